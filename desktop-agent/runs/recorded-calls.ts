/**
 * The calls of a run as its record has them: what each asked for, and what came of it, step by step.
 *
 * Owns which call of a replay is which of the record: those that ask for the same are the same, in the order in which
 * they occurred.
 */
import { getOrMake } from '../../protocol/collections.ts';
import { GRAPH_ENDED } from '../engine/caller.ts';
import type { GraphEvent } from '../run-events.ts';
import { hashOf } from './bounded-event.ts';
import type { EventLine } from './record-lines.ts';

/** One thing that came of a call, and its place among the events of the run. */
export interface CallStep {
  readonly index: number;
  readonly event: GraphEvent;
  /** It is not there whole, so it cannot be given again. */
  readonly isCut: boolean;
}

export interface RecordedCall {
  /** The label of an agent, the name of a tool. */
  readonly name: string;
  /** In their order. The last one is the end; none when the run ended before. */
  readonly steps: readonly CallStep[];
  readonly tokens: number;
}

export interface AskedAgent {
  readonly prompt: unknown;
  readonly label: string;
  readonly model: string | null;
  readonly schema: unknown;
}

/** An agent without a label is called by its number, which is another one after an edit: that is no difference. */
const NUMBERED = /^agent \d+$/;

export function agentKey({ prompt, label, model, schema }: AskedAgent): string {
  return hashOf([hashed(prompt), NUMBERED.test(label) ? '' : label, model, hashed(schema ?? null)]);
}

export function toolKey({ tool, input }: { readonly tool: string; readonly input: unknown }): string {
  return hashOf([tool, hashed(input ?? null)]);
}

/** A hash in place of a text that was cut, as the record has it. */
class Hashed {
  readonly sha256: string;
  constructor(sha256: string) {
    this.sha256 = sha256;
  }
}

function hashed(value: unknown): string {
  return value instanceof Hashed ? value.sha256 : hashOf(value);
}

/** The calls of one kind by what they ask for, each to be taken once. */
export class CallPile {
  readonly #calls = new Map<string, RecordedCall[]>();

  add(key: string, call: RecordedCall): void {
    getOrMake(this.#calls, key, () => []).push(call);
  }

  /** The first one that was not taken. */
  take(key: string): RecordedCall | null {
    return this.#calls.get(key)?.shift() ?? null;
  }

  /** Those that nobody has asked for. */
  left(): RecordedCall[] {
    return [...this.#calls.values()].flat();
  }
}

export interface RecordedCalls {
  readonly agents: CallPile;
  readonly tools: CallPile;
}

export function recordedCalls(lines: readonly EventLine[]): RecordedCalls {
  const agents = new CallPile();
  const tools = new CallPile();
  const steps = stepsByCall(lines);
  for (const { event, cut } of lines) {
    const whole = (name: string, value: unknown) => (cut?.[name] === undefined ? value : new Hashed(cut[name].sha256));
    if (event.type === 'agent_started') {
      const { agent, label, model } = event;
      const key = agentKey({
        prompt: whole('prompt', event.prompt),
        label,
        model,
        schema: whole('schema', event.schema),
      });
      agents.add(key, recorded(label, steps.get(`agent ${agent}`)));
    } else if (event.type === 'tool_started') {
      const { call, tool } = event;
      tools.add(toolKey({ tool, input: whole('input', event.input) }), recorded(tool, steps.get(`tool ${call}`)));
    }
  }
  return { agents, tools };
}

function recorded(name: string, steps: readonly CallStep[] = []): RecordedCall {
  const tokens = steps.reduce((sum, { event }) => sum + (event.type === 'agent_finished' ? event.tokens : 0), 0);
  return { name, steps, tokens };
}

function stepsByCall(lines: readonly EventLine[]): ReadonlyMap<string, CallStep[]> {
  const steps = new Map<string, CallStep[]>();
  for (const [index, { event, cut }] of lines.entries()) {
    const call = callOf(event);
    // What the end of the run took away was never answered.
    if (call === null || ('error' in event && event.error === GRAPH_ENDED)) continue;
    getOrMake(steps, call, () => []).push({ index, event, isCut: cut !== undefined });
  }
  return steps;
}

function callOf(event: GraphEvent): string | null {
  switch (event.type) {
    case 'agent_finished':
      return `agent ${event.agent}`;
    case 'approval_asked':
    case 'approval_decided':
    case 'tool_finished':
    case 'tool_refused':
      return `tool ${event.call}`;
    default:
      return null;
  }
}
