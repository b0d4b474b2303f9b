/**
 * Code of the sandbox: the globals that ask somebody else (`agent`, `tool`, `graph`).
 *
 * Sent into the interpreter as its own source text (`toString()`), before the Graph: it must not refer to anything
 * outside itself.
 */
import type { GuestCalls } from './guest-calls.ts';
import type { GuestErrors } from './guest-errors.ts';
import type { ToJson } from './guest-values.ts';

export interface GuestAsking {
  agent(prompt: unknown, options?: unknown): Promise<unknown>;
  tool(name: unknown, input?: unknown): Promise<unknown>;
  graph(reference: unknown, args?: unknown): Promise<unknown>;
}

export function makeAsking(calls: GuestCalls, errors: GuestErrors, toJson: ToJson): GuestAsking {
  const parse = JSON.parse as (text: string) => unknown;
  const agentUsage = 'agent(prompt, { label, model, schema })';
  const shownChars = 200;

  function isObject(value: unknown): value is Record<string, unknown> {
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  }

  /** Label, model and schema as texts; '' for what is left out. */
  function agentOptions(options: unknown): string[] {
    if (!isObject(options)) throw errors.misuse(`${agentUsage}: the options must be an object`);
    const texts: Record<string, string> = { label: '', model: '', schema: '' };
    for (const [key, value] of Object.entries(options)) {
      if (!(key === 'label' || key === 'model' || key === 'schema')) {
        throw errors.misuse(`${agentUsage} has no option \`${key.slice(0, 50)}\``);
      }
      if (value === undefined) continue;
      if (key === 'schema') {
        if (!isObject(value)) throw errors.misuse(`${agentUsage}: \`schema\` must be a JSON Schema, an object`);
        texts[key] = toJson(value, 'schema');
      } else {
        if (typeof value !== 'string') throw errors.misuse(`${agentUsage}: \`${key}\` must be a text`);
        texts[key] = value.slice(0, shownChars);
      }
    }
    return Object.values(texts);
  }

  async function agent(prompt: unknown, options: unknown = {}): Promise<unknown> {
    if (typeof prompt !== 'string') {
      throw errors.misuse(`${agentUsage}: the prompt must be a text, not ${typeof prompt}`);
    }
    if (prompt.trim() === '') throw errors.misuse(`${agentUsage}: the prompt is empty`);
    const texts = agentOptions(options);
    return calls.ask('agent', [prompt, ...texts], texts[2] === '' ? (text) => text : parse);
  }

  async function tool(name: unknown, input: unknown = {}): Promise<unknown> {
    if (typeof name !== 'string') {
      throw errors.misuse(`tool(name, input): the name must be a text, for example 'files.read', not ${typeof name}`);
    }
    return calls.ask('tool', [name.slice(0, shownChars), toJson(input, 'input')], parse);
  }

  async function graph(reference: unknown, args: unknown = {}): Promise<unknown> {
    if (typeof reference !== 'string') {
      throw errors.misuse(`graph(ref, args): the ref must be a text, the slug of a Graph, not ${typeof reference}`);
    }
    if (!isObject(args)) throw errors.misuse('graph(ref, args): the arguments must be an object');
    return calls.ask('graph', [reference.slice(0, shownChars), toJson(args, 'args')], parse);
  }

  return { agent, tool, graph };
}
