/**
 * The whole stack: tRPC's client, a `fetch` over the simulated wire, the relay's fetch handler, and tRPC's own WebSocket
 * handler; for agents, the MCP endpoint. What real desktops and a real relay execute, but for sockets.
 */
import { createDialers } from '../../../desktop-agent/dialer/dialers.ts';
import { TRPC_PATH } from '../../../protocol/api.ts';
import { socketsOver } from '../faults/socket-wire.ts';
import type { Breakdown } from '../faults/wire.ts';
import type { CallKind } from '../history.ts';
import { mcpAgents } from './mcp-agents.ts';
import { headersNaming, socketsNaming } from './naming.ts';
import type { DialGiven, Path } from './path.ts';

export const URL_OF_RELAY = 'http://relay.test';
const CALLS = `${TRPC_PATH}/relay.`;

export const FULL_PATH: Path = {
  name: 'full',
  settling: 'streams',
  dialers: (given) =>
    createDialers({
      url: URL_OF_RELAY,
      token: () => given.token,
      clock: given.life,
      fetch: fetchOver(given),
      open: socketsNaming(given.names, socketsOver(given.sockets, given.life)),
    }),
  agents({ relay }, { token, signal, life }) {
    // A stream that waits would outlive the relay, and its keep-alive the world.
    const relayOver = new AbortController();
    life.onEnd(() => relayOver.abort());
    return mcpAgents({ fetch: relay.fetch, token, signal: AbortSignal.any([signal, relayOver.signal]) });
  },
  accept: ({ relay }, socket, desktopId) => relay.acceptSocket(socket, desktopId),
};

export function fetchOver({ wire, life, names, serving, randomOf }: DialGiven) {
  return (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const { signal, ...rest } = init;
    const headers = headersNaming(Object.fromEntries(new Headers(rest.headers)), names);
    const url = String(input instanceof Request ? input.url : input);
    const kind = callOf(url);
    const takeBack = wire.send<Response>(life, {
      name: kind,
      random: randomOf(kind),
      deliver: (arrival) => serving().relay.fetch(new Request(url, { ...rest, headers, signal: arrival })),
      onAnswer: resolve,
      onBreakdown: (breakdown) => {
        if (breakdown === 'html-504') resolve(proxyPage());
        else reject(brokenConnection(breakdown));
      },
    });
    const aborted = () => {
      reject(new DOMException('The operation was aborted.', 'AbortError'));
      takeBack();
    };
    if (signal?.aborted) aborted();
    else signal?.addEventListener('abort', aborted, { once: true });
    const forget = () => signal?.removeEventListener('abort', aborted);
    promise.then(forget, forget);
    return promise;
  };
}

function callOf(url: string): CallKind {
  const { pathname } = new URL(url);
  if (!pathname.startsWith(CALLS)) throw new Error(`a desktop called ${pathname}, which is no call of the relay`);
  return pathname.slice(CALLS.length) as CallKind;
}

function proxyPage(): Response {
  return new Response('<html><h1>504 Gateway Time-out</h1></html>', {
    status: 504,
    headers: { 'content-type': 'text/html' },
  });
}

function brokenConnection(breakdown: Breakdown): TypeError {
  const code = breakdown === 'refused' ? 'ECONNREFUSED' : 'ECONNRESET';
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });
}
