/**
 * Structured answers: a wrapper around any provider, so that what a Graph gets for a schema fits it.
 *
 * Owns finding the JSON in an answer and the repair: an answer that does not fit is asked for again, with what is wrong with
 * it, twice at most; the tokens of all tries count. Whether it fits is checked by who asks, in the Graph's own worker.
 * Budgets are not its business: what runs finishes.
 */
import { jsonSchemaProblem, valueProblems } from '../../protocol/arguments-schema.ts';
import { isDeeperThan } from '../../protocol/json-text.ts';
import { ERROR_CHARS, JSON_DEPTH } from '../../protocol/limits.ts';
import { cleanText } from '../../protocol/text.ts';
import { AgentFailure, type AgentProvider, type AgentReply, type AgentRequest } from './agent-provider.ts';

export type AnswerSchema = Readonly<Record<string, unknown>>;

/** More: a model that does not get it is paid for longer. Fewer: one that would have is given up. */
export const REPAIRS_MAX = 2;

/** JSON characters of a schema. Larger: it costs more than the prompt, with each agent. Smaller: nested records do not fit. */
export const ANSWER_SCHEMA_CHARS = 20_000;

/** Of the answer that did not fit, when it is asked for again: what is wrong stands beside it. */
const SHOWN_AGAIN_CHARS = 8_000;

export interface StructuredOptions {
  /** Put the schema into the prompt. False for a provider that tells its model itself. Default true. */
  readonly schemaInPrompt?: boolean;
}

export function withStructuredAnswers(provider: AgentProvider, options: StructuredOptions = {}): AgentProvider {
  const { schemaInPrompt = true } = options;
  const firstPrompt = schemaInPrompt ? promptWithSchema : (prompt: string) => prompt;
  return {
    async ask(request) {
      const { schema, prompt } = request;
      if (schema === undefined) return provider.ask(request);
      // Whoever checks the answers has looked at the schema too.
      const problem = request.problemOf ? null : jsonSchemaProblem(schema, ANSWER_SCHEMA_CHARS);
      if (problem !== null) throw new Error(`the schema of the answer ${problem}`);
      return askUntilItFits(provider, { ...request, schema, prompt: firstPrompt(prompt, schema) }, prompt);
    },
  };
}

/** For models that nobody else tells of the schema. */
export function promptWithSchema(prompt: string, schema: AnswerSchema): string {
  return `${prompt}\n\nAnswer with JSON alone, without any other text. It must fit this JSON Schema:\n\n${JSON.stringify(schema)}`;
}

type StructuredRequest = AgentRequest & { readonly schema: AnswerSchema };

async function askUntilItFits(provider: AgentProvider, first: StructuredRequest, prompt: string): Promise<AgentReply> {
  const bill = new Bill();
  let request = first;
  for (let tries = 1; ; tries += 1) {
    const { text } = await bill.pay(provider.ask(request));
    const reading = await readAnswer(first, text).catch((error: unknown) => {
      throw new AgentFailure(cleanText(error, ERROR_CHARS), bill.sum);
    });
    if ('json' in reading) return { text: reading.json, ...bill.sum };
    const { problems } = reading;
    if (tries > REPAIRS_MAX) {
      throw new AgentFailure(`the answer does not fit its schema, asked for ${tries} times: ${problems}`, bill.sum);
    }
    request = { ...first, prompt: repairPrompt(first, { prompt, text, problems }) };
  }
}

function repairPrompt(
  { schema }: StructuredRequest,
  { prompt, text, problems }: { readonly prompt: string; readonly text: string; readonly problems: string },
): string {
  const answer = cleanText(text, SHOWN_AGAIN_CHARS);
  return promptWithSchema(
    `${prompt}\n\nThis was answered before:\n\n${answer}\n\nThat answer cannot be used: ${problems}.`,
    schema,
  );
}

/** What all tries cost together. */
class Bill {
  #tokens = 0;
  #costUsd: number | undefined;

  get sum(): { readonly tokens: number; readonly costUsd?: number } {
    return this.#costUsd === undefined ? { tokens: this.#tokens } : { tokens: this.#tokens, costUsd: this.#costUsd };
  }

  async pay(asked: Promise<AgentReply>): Promise<AgentReply> {
    try {
      const reply = await asked;
      this.#add(reply);
      return reply;
    } catch (error) {
      if (error instanceof AgentFailure) this.#add(error);
      else if (this.#tokens === 0) throw error;
      throw new AgentFailure(cleanText(error, ERROR_CHARS), this.sum);
    }
  }

  #add({ tokens, costUsd }: { readonly tokens: number; readonly costUsd?: number | undefined }): void {
    this.#tokens += tokens;
    if (costUsd !== undefined) this.#costUsd = (this.#costUsd ?? 0) + costUsd;
  }
}

type Reading = { readonly json: string } | { readonly problems: string };

/** The first JSON in the text that fits. */
async function readAnswer(request: StructuredRequest, text: string): Promise<Reading> {
  let misfit: string | null = null;
  for (const candidate of jsonCandidates(text)) {
    const value = parsed(candidate);
    if (value === undefined) continue;
    const problems = await problemsOf(request, value);
    if (problems === null) return { json: JSON.stringify(value) };
    misfit ??= problems;
  }
  return { problems: misfit ?? 'it is not JSON' };
}

/** Null when the value fits. A schema that comes without a check of its own is trusted: it may have patterns. */
async function problemsOf({ schema, problemOf }: StructuredRequest, value: unknown): Promise<string | null> {
  if (isDeeperThan(value, JSON_DEPTH)) return `it is nested deeper than ${JSON_DEPTH} levels`;
  if (problemOf !== undefined) return problemOf(JSON.stringify(value));
  const found = valueProblems(schema, value, 'answer');
  return found.length === 0 ? null : found.join('; ');
}

/** Where the JSON of an answer may be: all of it, in a fence, or somewhere in prose. */
function jsonCandidates(text: string): ReadonlySet<string> {
  // Some models think aloud first.
  const said = text.replace(/^\s*<think>[\s\S]*?<\/think>/, '');
  const fenced = [...said.matchAll(/```(?:json)?[ \t]*\r?\n([\s\S]*?)```/gi)].map(([, inside = '']) => inside);
  const start = said.search(/[{[]/);
  const end = Math.max(said.lastIndexOf('}'), said.lastIndexOf(']'));
  const widest = start >= 0 && end > start ? [said.slice(start, end + 1)] : [];
  return new Set([said, ...fenced, ...widest].map((each) => each.trim()));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
