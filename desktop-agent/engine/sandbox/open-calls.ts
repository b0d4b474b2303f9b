/**
 * What a Graph waits for, on the worker's side of the interpreter: here a Graph cannot cheat.
 *
 * Owns the calls that are open, what may not be asked at all, and the schemas of the answers that are waited for. The
 * numbers bound what one Graph can send; what a whole run may take is counted on the host thread.
 */
import { jsonSchemaProblem, valueProblems } from '../../../protocol/arguments-schema.ts';
import type { SandboxLimits, SandboxMessage } from '../sandbox-messages.ts';

export type CallKind = 'agent' | 'tool' | 'graph' | 'retry';

/** A call as the prelude sends it. */
export interface AskedCall {
  readonly kind: CallKind;
  readonly id: number;
  readonly texts: readonly string[];
  /** How many messages of the host the Graph has handled. */
  readonly slice: number;
}

/** The message for the host, or why it is not sent: the name of the error, `|` and what it says. */
export type Opened = { readonly message: SandboxMessage } | { readonly refusal: string };

type Schema = Readonly<Record<string, unknown>>;

interface OpenCall {
  readonly chars: number;
  readonly schema: Schema | null;
}

const ASKS: Readonly<Record<CallKind, string>> = {
  agent: 'ask %d agents',
  tool: 'call %d tools',
  graph: 'call %d Graphs',
  retry: 'wait for %d retries',
};

const LIMIT_NAMES: Readonly<Record<CallKind, string>> = {
  agent: 'AgentLimitExceeded',
  tool: 'ToolLimitExceeded',
  graph: 'GraphLimitExceeded',
  retry: 'RetryLimitExceeded',
};

export class OpenCalls {
  readonly #limits: SandboxLimits;
  readonly #open = new Map<number, OpenCall>();
  readonly #asked: Record<CallKind, number> = { agent: 0, tool: 0, graph: 0, retry: 0 };
  #waitingChars = 0;

  constructor(limits: SandboxLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#open.size;
  }

  open(call: AskedCall): Opened {
    const { kind, id, texts } = call;
    const chars = texts.reduce((sum, text) => sum + text.length, 0);
    const refusal = this.#tooLong(call, chars) ?? this.#tooMany(kind);
    if (refusal !== null) return { refusal };
    const schemaJson = kind === 'agent' ? texts[3] : undefined;
    const schema = schemaJson ? (JSON.parse(schemaJson) as Schema) : null;
    const problem = schema === null ? null : jsonSchemaProblem(schema, this.#limits.answerSchemaChars);
    if (problem !== null) return { refusal: `TypeError|agent(prompt, { schema }): the schema ${problem}` };
    this.#asked[kind] += 1;
    this.#open.set(id, { chars, schema });
    this.#waitingChars += chars;
    return { message: messageOf(call) };
  }

  close(id: number): void {
    this.#waitingChars -= this.#open.get(id)?.chars ?? 0;
    this.#open.delete(id);
  }

  /** What is wrong with this text as the answer of an open call; null when nothing is. */
  check(id: number, text: string): string | null {
    const schema = this.#open.get(id)?.schema ?? null;
    if (schema === null) return null;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return 'it is no JSON text';
    }
    const problems = valueProblems(schema, value, 'answer');
    return problems.length === 0 ? null : problems.join('; ');
  }

  #tooLong({ kind, texts }: AskedCall, chars: number): string | null {
    const { promptChars, toolInputChars, graphArgsChars, waitingChars } = this.#limits;
    const what = {
      agent: { name: 'the prompt', text: texts[0], limit: promptChars },
      tool: { name: 'the input', text: texts[1], limit: toolInputChars },
      graph: { name: 'the arguments', text: texts[1], limit: graphArgsChars },
      retry: { name: 'the error', text: '', limit: 0 },
    }[kind];
    if ((what.text?.length ?? 0) > what.limit) {
      return `RangeError|${kind}(): ${what.name} has ${what.text?.length} characters, and may have ${what.limit}`;
    }
    if (this.#waitingChars + chars <= waitingChars) return null;
    return `RangeError|${kind}(): more than ${waitingChars} characters would wait for answers: ask for less at once`;
  }

  #tooMany(kind: CallKind): string | null {
    const { agentsPerRun, toolCallsPerRun, graphCallsPerRun, retriesPerRun } = this.#limits;
    const limit = { agent: agentsPerRun, tool: toolCallsPerRun, graph: graphCallsPerRun, retry: retriesPerRun }[kind];
    if (this.#asked[kind] < limit) return null;
    return `${LIMIT_NAMES[kind]}|a run can ${ASKS[kind].replace('%d', String(limit))} and no more`;
  }
}

function messageOf({ kind, id, texts, slice }: AskedCall): SandboxMessage {
  const [first = '', second = '', third = '', fourth = ''] = texts;
  switch (kind) {
    case 'agent':
      return {
        type: 'agent',
        id,
        slice,
        prompt: first,
        label: second,
        model: third === '' ? null : third,
        schema: fourth === '' ? null : fourth,
      };
    case 'tool':
      return { type: 'tool', id, tool: first, input: second };
    case 'graph':
      return { type: 'graph', id, reference: first, args: second };
    case 'retry':
      return {
        type: 'retry',
        id,
        attempt: Number(first),
        attempts: Number(second),
        waitMs: Math.round(Number(third)),
        error: fourth,
      };
  }
}
