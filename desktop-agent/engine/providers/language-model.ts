/**
 * The language models of the AI SDK, by the kind of service.
 *
 * Owns what is fixed for each kind. The SDK's packages are imported when the first agent needs one: a desktop that asks
 * none starts without them. They get address, key and `fetch` from here and pick none themselves, though two of them look
 * at ANTHROPIC_BASE_URL and OPENAI_BASE_URL when they are imported, which takes a permission on Deno.
 * Of the SDK only the models are used (`@ai-sdk/*`), without the package `ai` above them: its retries run on timers and
 * chance of their own, and it brings a hosted gateway as its default provider.
 */
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { HttpClient } from '../../dialer/http-client.ts';

export const MODEL_TYPES = ['openai-compatible', 'anthropic', 'openai'] as const;
export type ModelType = (typeof MODEL_TYPES)[number];

/** Where a service is when the owner names no other place. */
export const SERVICE_URLS: Readonly<Record<Exclude<ModelType, 'openai-compatible'>, string>> = {
  anthropic: 'https://api.anthropic.com/v1',
  openai: 'https://api.openai.com/v1',
};

export interface ModelEndpoint {
  readonly type: ModelType;
  readonly url: string;
  readonly model: string;
}

export interface ModelAccess {
  readonly key: string | null;
  readonly fetch: HttpClient['fetch'];
}

export async function languageModel(endpoint: ModelEndpoint, { key, fetch }: ModelAccess): Promise<LanguageModelV4> {
  const { type, url: baseURL, model } = endpoint;
  switch (type) {
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      const access = key === null ? { baseURL, fetch } : { baseURL, fetch, apiKey: key };
      return createOpenAICompatible({ name: type, supportsStructuredOutputs: true, ...access }).chatModel(model);
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic({ baseURL, apiKey: key ?? '', fetch })(model);
    }
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI({ baseURL, apiKey: key ?? '', fetch }).responses(model);
    }
  }
}
