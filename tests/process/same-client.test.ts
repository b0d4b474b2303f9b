/** The official client before a relay that is killed and started again: it goes on as if nothing had been. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import { ERAS, type Era, MODERN_VERSION } from '../mcp/fixtures.ts';
import { desktopCall, plainSync, sharedSession, startRelay, startWorld, type World } from './relay-world.ts';
import { expectProcesses, LIGHT, until } from './support.ts';

expectProcesses(t);

const SESSION = 'gs_0123456789abcdef0123456789abcdef';
interface Caller {
  readonly client: Client;
  /** The method of each message that was sent. */
  readonly asked: string[];
  /** Answers that have begun as an event stream. */
  streams: number;
  /** Where the relay is now: a new process has another port. */
  url: string;
}

async function connect(t: Test, { url, agent }: World, era: Era): Promise<Caller> {
  const asked: string[] = [];
  const mode = era === '2026' ? { pin: MODERN_VERSION } : 'legacy';
  const client = new Client({ name: 'patient', version: '1' }, { versionNegotiation: { mode } });
  const caller: Caller = { client, asked, streams: 0, url };
  const transport = new StreamableHTTPClientTransport(new URL('http://relay.test/mcp'), {
    authProvider: { token: async () => agent.token },
    fetch: async (_url, init) => {
      asked.push(init?.body === undefined ? String(init?.method) : JSON.parse(String(init.body)).method);
      const response = await fetch(new URL('/mcp', caller.url), init);
      if (response.headers.get('content-type')?.startsWith('text/event-stream')) caller.streams += 1;
      return response;
    },
  });
  await client.connect(transport);
  t.teardown(() => client.close());
  return caller;
}

interface ToolCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

async function call({ client }: Caller, request: ToolCall, signal?: AbortSignal) {
  const { structuredContent, content } = await client.callTool(request, { ...(signal && { signal }) });
  if (structuredContent === undefined) throw new Error(JSON.stringify(content));
  return structuredContent as { readonly command_id: string };
}

/** What a client has of a wait in the middle of which the relay ends; null when nothing ever comes. */
async function endedWait(caller: Caller, command_id: string, end: () => Promise<{ signal: string | null }>) {
  const { streams } = caller;
  const giveUp = new AbortController();
  const waiting = { name: 'get_graph_run', arguments: { command_id, wait_seconds: 50 } };
  const wait = call(caller, waiting, giveUp.signal).catch(() => null);
  await until('the answer to begin', () => caller.streams > streams || undefined);
  // Of a killed relay the client hears nothing more, and waits for as long as its own limit is.
  if ((await end()).signal === 'SIGKILL') giveUp.abort();
  return wait;
}

/** What is neither a call, nor a word that one is given up. */
function newSessions(asked: readonly string[]): string[] {
  return asked.filter((method) => !['tools/call', 'tools/list', 'notifications/cancelled'].includes(method));
}

for (const era of ERAS) {
  t.test(`a client of ${era} goes on with a relay that was stopped or killed, in the same session`, async (t) => {
    const world = await startWorld(t);
    const caller = await connect(t, world, era);
    const shares = plainSync({ projects: sharedSession(SESSION) });
    const share = () => desktopCall({ url: caller.url, token: world.desktopToken }, 'sync', shares);
    await share();
    await caller.client.listTools();
    const input = { graph_session_id: SESSION, idempotency_key: 'the-only-key' };
    const { command_id } = await call(caller, { name: 'run_graph_session', arguments: input });
    const goesOn = async () => {
      const relay = await startRelay(t, world.data, { env: LIGHT });
      caller.url = relay.url;
      await share();
      t.equal((await caller.client.listTools()).tools.length, 4);
      t.match(await call(caller, { name: 'list_graph_sessions', arguments: {} }), {
        sessions: [{ graph_session_id: SESSION }],
      });
      t.match(await call(caller, { name: 'run_graph_session', arguments: input }), { command_id, replayed: true });
      return relay;
    };
    const before = caller.asked.length;
    const told = await endedWait(caller, command_id, () => world.process.end('SIGTERM'));
    t.match(told, { status: 'queued' }, 'a relay that stops says how things stand');
    const second = await goesOn();
    t.equal(await endedWait(caller, command_id, () => second.process.end('SIGKILL')), null);
    await goesOn();
    t.match(await call(caller, { name: 'get_graph_run', arguments: { command_id } }), { status: 'queued' });
    t.match(await call(caller, { name: 'cancel_graph_run', arguments: { command_id } }), { status: 'cancelled' });
    t.same(newSessions(caller.asked.slice(before)), []);
  });
}
