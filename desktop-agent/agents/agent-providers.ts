/**
 * From an entry of the owner's file to the provider that answers for it.
 *
 * Owns which provider it is, and its key. What speaks to a service over HTTP is imported when one is asked.
 */
import type { Ports } from '../../protocol/ports.ts';
import type { HttpClient } from '../dialer/http-client.ts';
import type { AgentProvider } from '../engine/agent-provider.ts';
import { createCommandProvider } from '../engine/providers/command.ts';
import { type ModelType, SERVICE_URLS } from '../engine/providers/language-model.ts';
import { keyFromCommand, keyFromVariable, type ModelKey, NO_KEY } from '../engine/providers/model-key.ts';
import type { Prices } from '../engine/providers/prices.ts';
import { createScriptedProvider } from '../engine/providers/scripted.ts';
import { withStructuredAnswers } from '../engine/structured-answers.ts';
import type { ChosenAgent } from './agent-names.ts';
import type { AgentEntry, ServiceEntry } from './agents-schema.ts';

export interface AgentParts {
  readonly ports: Pick<Ports, 'clock' | 'random'>;
  /** Where the variables of keys are looked up. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly fetch: HttpClient['fetch'];
}

/** Where a key is looked for when the owner does not say. */
const USUAL_VARIABLES: Readonly<Partial<Record<ModelType, string>>> = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
};

export function keyOf(entry: AgentEntry, { ports, environment }: Pick<AgentParts, 'ports' | 'environment'>): ModelKey {
  if (entry.type === 'command' || entry.type === 'scripted') return NO_KEY;
  if (entry.key_command !== undefined) return keyFromCommand(entry.key_command, ports.clock);
  const variable = entry.api_key_env ?? USUAL_VARIABLES[entry.type];
  return variable === undefined ? NO_KEY : keyFromVariable(variable, environment);
}

/** Where the service is; null for an agent that is none. */
export function urlOf(entry: AgentEntry): string | null {
  if (entry.type === 'command' || entry.type === 'scripted') return null;
  if (entry.type === 'openai-compatible') return entry.url;
  return entry.url ?? SERVICE_URLS[entry.type];
}

export function providerOf(chosen: ChosenAgent, key: ModelKey, parts: AgentParts): AgentProvider {
  const { entry } = chosen;
  switch (entry.type) {
    case 'scripted':
      return withStructuredAnswers(createScriptedProvider(), { schemaInPrompt: false });
    case 'command': {
      const { command, model, output, timeout_ms: timeoutMs } = entry;
      const { clock } = parts.ports;
      return withStructuredAnswers(
        createCommandProvider({ command, model, output, timeoutMs, clock, prices: pricesOf(entry) }),
      );
    }
    default:
      return withStructuredAnswers(serviceProvider({ ...chosen, entry }, key, parts), { schemaInPrompt: false });
  }
}

function serviceProvider(
  chosen: ChosenAgent & { entry: ServiceEntry },
  key: ModelKey,
  parts: AgentParts,
): AgentProvider {
  const { name, entry, model = entry.model } = chosen;
  const url = (urlOf(entry) as string).replace(/\/+$/, '');
  return {
    async ask(request) {
      const { createModelProvider } = await import('../engine/providers/model.ts');
      const { ports, fetch } = parts;
      const limits = { timeoutMs: entry.timeout_ms, maxOutputTokens: entry.max_output_tokens, prices: pricesOf(entry) };
      const endpoint = { type: entry.type, url, model };
      return createModelProvider({ name, endpoint, key, ports, fetch, ...limits }).ask(request);
    },
  };
}

function pricesOf({ prices }: Exclude<AgentEntry, { type: 'scripted' }>): Prices | undefined {
  return prices && { input: prices.input, output: prices.output, cachedInput: prices.cached_input };
}
