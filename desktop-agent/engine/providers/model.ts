/**
 * A provider that asks a language model over HTTP, through the AI SDK.
 *
 * Owns one call: its key, its deadline, its tries, and what is told when it fails. Which service it is and what its answer
 * means are in the files beside it. A schema goes to the service; one that refuses it gets the schema in the prompt.
 */
import {
  APICallError,
  type JSONSchema7,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
} from '@ai-sdk/provider';
import type { Ports } from '../../../protocol/ports.ts';
import type { HttpClient } from '../../dialer/http-client.ts';
import { AgentFailure, type AgentProvider, type AgentReply, type AgentRequest } from '../agent-provider.ts';
import { promptWithSchema } from '../structured-answers.ts';
import { languageModel, type ModelEndpoint } from './language-model.ts';
import { failureText } from './model-failures.ts';
import { type ModelKey, withoutKey } from './model-key.ts';
import { readReply } from './model-reply.ts';
import { askAgain } from './model-retry.ts';
import { orAborted } from './pause.ts';
import type { Prices } from './prices.ts';

export interface ModelProviderOptions {
  /** What the owner calls it; failures begin with it. */
  readonly name: string;
  readonly endpoint: ModelEndpoint;
  readonly key: ModelKey;
  readonly ports: Pick<Ports, 'clock' | 'random'>;
  readonly fetch: HttpClient['fetch'];
  /** For a call with all its tries and pauses. */
  readonly timeoutMs: number;
  readonly maxOutputTokens?: number | undefined;
  readonly prices?: Prices | undefined;
}

/** A service that cannot do what a schema asks for says so with one of these. */
const SCHEMA_REFUSED = [400, 422, 501];

export function createModelProvider(options: ModelProviderOptions): AgentProvider {
  return { ask: (request) => new ModelCall(options, request).answer() };
}

class ModelCall {
  readonly #options: ModelProviderOptions;
  readonly #request: AgentRequest;
  readonly #late = new AbortController();
  readonly #signal: AbortSignal;
  #key: string | null = null;
  #tries = 0;

  constructor(options: ModelProviderOptions, request: AgentRequest) {
    this.#options = options;
    this.#request = request;
    this.#signal = AbortSignal.any([request.signal, this.#late.signal]);
  }

  async answer(): Promise<AgentReply> {
    const { ports, timeoutMs, prices } = this.#options;
    const { prompt, signal } = this.#request;
    signal.throwIfAborted();
    const timer = ports.clock.after(timeoutMs, () => this.#late.abort());
    try {
      return readReply(await this.#generate(await this.#model()), { prompt, prices });
    } catch (error) {
      signal.throwIfAborted();
      throw this.#failure(error);
    } finally {
      timer.cancel();
    }
  }

  async #model(): Promise<LanguageModelV4> {
    const { endpoint, key, fetch } = this.#options;
    try {
      this.#key = await orAborted(key.read(), this.#signal);
    } catch (error) {
      throw new AgentFailure((error as Error).message, { tokens: 0 });
    }
    return languageModel(endpoint, { key: this.#key, fetch });
  }

  async #generate(model: LanguageModelV4) {
    const { prompt, schema } = this.#request;
    if (schema === undefined) return this.#call(model, callOptions(prompt));
    try {
      return await this.#call(model, { ...callOptions(prompt), ...schemaOptions(schema) });
    } catch (error) {
      if (!APICallError.isInstance(error) || !SCHEMA_REFUSED.includes(error.statusCode ?? 0)) throw error;
      this.#tries = 0;
      return this.#call(model, callOptions(promptWithSchema(prompt, schema)));
    }
  }

  #call(model: LanguageModelV4, options: LanguageModelV4CallOptions) {
    const { ports, maxOutputTokens } = this.#options;
    const limited = maxOutputTokens === undefined ? options : { ...options, maxOutputTokens };
    const call = () => {
      this.#tries += 1;
      return Promise.resolve(model.doGenerate({ ...limited, abortSignal: this.#signal }));
    };
    return askAgain(call, { ...ports, signal: this.#signal });
  }

  #failure(error: unknown): AgentFailure {
    const { name, endpoint, key, ports, timeoutMs } = this.#options;
    if (APICallError.isInstance(error) && error.statusCode === 401) key.forget();
    const call = { ...endpoint, keySource: key.source, tries: this.#tries, now: ports.clock.now() };
    const isOurs = error instanceof AgentFailure;
    const said = isOurs ? error.message : failureText(error, call);
    const text = this.#late.signal.aborted ? `gave no answer within ${timeoutMs} ms` : said;
    // Without the cause: an error of the SDK holds request and answer.
    return new AgentFailure(withoutKey(`agent "${name}" ${text}`, this.#key), isOurs ? error : { tokens: 0 });
  }
}

function callOptions(prompt: string): LanguageModelV4CallOptions {
  return {
    prompt: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
    // OpenAI keeps what it is asked for thirty days unless told not to.
    providerOptions: { openai: { store: false } },
  };
}

function schemaOptions(schema: Readonly<Record<string, unknown>>): Partial<LanguageModelV4CallOptions> {
  // "Strict" takes few schemas. Whether the answer fits is checked here anyway.
  const lenient = { strictJsonSchema: false };
  return {
    responseFormat: { type: 'json', schema: schema as JSONSchema7, name: 'answer' },
    providerOptions: { openai: { store: false, ...lenient }, openaiCompatible: lenient },
  };
}
