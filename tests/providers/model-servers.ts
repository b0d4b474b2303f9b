/**
 * Services of models on loopback that speak the wire formats of the known ones, and a provider that asks them.
 *
 * Owns that nothing outside this machine is asked: the real services are not seen here, only their formats.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { serviceFetch } from '../../desktop-agent/agents/service-fetch.ts';
import { createModelProvider, type ModelProviderOptions } from '../../desktop-agent/engine/providers/model.ts';
import { NO_KEY } from '../../desktop-agent/engine/providers/model-key.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { middle } from './support.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of three wire formats, looked into by tests only
  readonly body: any;
  /** Resolves when the caller's connection is gone. */
  readonly gone: Promise<void>;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string goes out as it is. */
  readonly body: unknown;
}

/** `silent`: no byte is answered. `cut`: the connection is reset. */
export type Behaviour = Answer | 'silent' | 'cut';

export interface ModelServer {
  readonly url: string;
  readonly asked: readonly Asked[];
  /** Resolves with the call of this number, past or to come. */
  call(number: number): Promise<Asked>;
}

/** The behaviours are taken one after another; the last one stays. */
export async function modelServer(t: Test, ...behaviours: readonly Behaviour[]): Promise<ModelServer> {
  const asked: Asked[] = [];
  const waiting: { readonly number: number; readonly resolve: (asked: Asked) => void }[] = [];
  const server = createServer(async (request, response) => {
    const gone = new Promise<void>((resolve) => request.socket.once('close', () => resolve()));
    let text = '';
    for await (const chunk of request) text += chunk;
    const call = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, gone };
    asked.push({ ...call, body: text === '' ? null : JSON.parse(text) });
    const behaviour = behaviours[Math.min(asked.length, behaviours.length) - 1] ?? 'silent';
    for (const each of waiting) if (asked.length >= each.number) each.resolve(asked[each.number - 1] as Asked);
    answer(response, behaviour);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    call: (number) => {
      const found = asked[number - 1];
      return found ? Promise.resolve(found) : new Promise((resolve) => waiting.push({ number, resolve }));
    },
  };
}

function answer(response: ServerResponse, behaviour: Behaviour): void {
  if (behaviour === 'silent') return;
  if (behaviour === 'cut') {
    response.socket?.resetAndDestroy();
    return;
  }
  const { status = 200, headers = {}, body } = behaviour;
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** An address of this machine where nobody listens. */
export async function deadUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return `http://127.0.0.1:${port}/v1`;
}

/** As Ollama, LM Studio, llama.cpp and vLLM answer `/v1/chat/completions`. */
export function chatAnswer(
  content: string | null,
  more: { usage?: object | null; finish?: string; message?: object } = {},
): Answer {
  const { usage = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 }, finish = 'stop', message = {} } = more;
  const choice = { index: 0, message: { role: 'assistant', content, ...message }, finish_reason: finish };
  const body = { id: 'chatcmpl-1', object: 'chat.completion', created: 1_790_000_000, model: 'm', choices: [choice] };
  return { body: usage === null ? body : { ...body, usage } };
}

/** As Anthropic answers `/v1/messages`. */
export function messagesAnswer(text: string, more: { usage?: object; stop?: string } = {}): Answer {
  const { usage = { input_tokens: 20, output_tokens: 5 }, stop = 'end_turn' } = more;
  const content = text === '' ? [] : [{ type: 'text', text }];
  const rest = { model: 'm', stop_reason: stop, stop_sequence: null, usage };
  return { body: { id: 'msg_1', type: 'message', role: 'assistant', content, ...rest } };
}

/** As OpenAI answers `/v1/responses`. */
export function responsesAnswer(text: string, more: { usage?: object } = {}): Answer {
  const { usage = { input_tokens: 20, output_tokens: 5, total_tokens: 25 } } = more;
  const content = [{ type: 'output_text', text, annotations: [] }];
  const output = [{ type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content }];
  return {
    body: {
      id: 'resp_1',
      object: 'response',
      created_at: 1_790_000_000,
      model: 'm',
      status: 'completed',
      output,
      usage,
    },
  };
}

/** The real clock where time must not matter, an OpenAI-compatible service, no key. */
export function provider(url: string, more: Partial<ModelProviderOptions> = {}) {
  return createModelProvider({
    name: 'local',
    endpoint: { type: 'openai-compatible', url, model: 'llama3.2' },
    key: NO_KEY,
    ports: { clock: systemClock, random: middle },
    fetch: serviceFetch({ clock: systemClock, environment: {} }),
    timeoutMs: 600_000,
    ...more,
  });
}
