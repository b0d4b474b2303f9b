/**
 * A provider that answers from a script: for demos, tests and the bench.
 *
 * Owns no model and no chance: the same prompt gets the same answer and the same token count, on any machine.
 */
import type { Clock } from '../../../protocol/ports.ts';
import { type AgentProvider, type AgentReply, type AgentRequest, estimateTokens } from '../agent-provider.ts';
import { pause } from './pause.ts';
import { exampleOf } from './schema-example.ts';

export interface ScriptedAnswer {
  readonly text: string;
  /** Default: estimated from the characters of prompt and answer. */
  readonly tokens?: number;
  readonly costUsd?: number;
}

export interface ScriptedProviderOptions {
  /** An answer, or an Error to fail with. Default: a short echo of the prompt, or a value that fits the schema. */
  readonly script?: (prompt: string, label: string) => ScriptedAnswer | Error;
  /** How long each answer takes; needs `clock`. Default: at once. */
  readonly delayMs?: number;
  readonly clock?: Clock;
}

const ECHO_CHARS = 80;

function echo(prompt: string, schema: AgentRequest['schema']): ScriptedAnswer {
  if (schema !== undefined) return { text: JSON.stringify(exampleOf(schema, 'scripted')) };
  const line = prompt.replace(/\s+/g, ' ').trim();
  const words = line === '' ? 0 : line.split(' ').length;
  const start = line.length > ECHO_CHARS ? `${line.slice(0, ECHO_CHARS).toWellFormed()}…` : line;
  return { text: `(scripted answer to ${words} words) ${start}` };
}

export function createScriptedProvider(options: ScriptedProviderOptions = {}): AgentProvider {
  const { script, delayMs = 0, clock } = options;
  if (delayMs > 0 && clock === undefined) throw new TypeError('a scripted provider with delayMs needs a clock');

  async function ask({ prompt, label, signal, schema }: AgentRequest): Promise<AgentReply> {
    signal.throwIfAborted();
    if (clock !== undefined && delayMs > 0) await pause(clock, delayMs, signal);
    const answer = script === undefined ? echo(prompt, schema) : script(prompt, label);
    if (answer instanceof Error) throw answer;
    return { ...answer, tokens: answer.tokens ?? estimateTokens(prompt, answer.text) };
  }

  return { ask };
}
