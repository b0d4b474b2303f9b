/**
 * The client of the Tasks extension, as a host wires it: the official client for all else, and requests of its own for
 * what the official one does not know.
 *
 * Owns the wiring only. Whether there is a network between it and the relay is up to who gives it a `fetch`.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient, type TaskEnabledSession } from '@modelcontextprotocol/ext-tasks/client';
import { answerOf, MODERN_VERSION } from './fixtures.ts';

export const TASKS = 'io.modelcontextprotocol/tasks';
export const DECLARED = { extensions: { [TASKS]: {} } } as const;

export interface Endpoint {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly token: string;
}

export interface TaskClient {
  readonly client: Client;
  readonly session: TaskEnabledSession;
}

const CLIENT = { name: 'task-client', version: '1' };
/** Routing is done by `fetch`. */
const URL_OF_NOBODY = 'http://relay.test/mcp';

export async function connectTaskClient(endpoint: Endpoint): Promise<TaskClient> {
  const transport = new StreamableHTTPClientTransport(new URL(URL_OF_NOBODY), {
    authProvider: { token: async () => endpoint.token },
    fetch: (url, init) => endpoint.fetch(new Request(url, init)),
  });
  const versionNegotiation = { mode: { pin: MODERN_VERSION } } as const;
  const client = new Client(CLIENT, { versionNegotiation, capabilities: DECLARED });
  await client.connect(transport);
  const session = createTaskSessionFromClient(client, {
    endpointId: 'relay',
    rawDispatch: dispatcherFor(endpoint),
    v2RequestFraming: { protocolVersion: MODERN_VERSION, clientInfo: CLIENT, clientCapabilities: {} },
  });
  return { client, session };
}

type Dispatch = NonNullable<Parameters<typeof createTaskSessionFromClient>[1]['rawDispatch']>;

/** Sends what the official client would not let through. */
function dispatcherFor({ fetch, token }: Endpoint): Dispatch {
  let id = 0;
  return async (framed, { signal, context } = {}) => {
    const { method, params } = framed as unknown as { method: string; params: { name?: string } };
    const response = await fetch(
      new Request(URL_OF_NOBODY, {
        method: 'POST',
        headers: {
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          authorization: `Bearer ${token}`,
          'mcp-protocol-version': MODERN_VERSION,
          'mcp-method': method,
          ...(params.name === undefined ? {} : { 'mcp-name': params.name }),
          ...context?.headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }),
        ...(signal && { signal }),
      }),
    );
    const { result, error } = await answerOf(response);
    return error === undefined ? { kind: 'result', result } : { kind: 'error', error };
  };
}
