/** The relay, killed and stopped: what it acknowledged to anyone is there after the next start (C91). */
import { connect } from 'node:net';
import t from 'tap';
import { systemIds } from '../../protocol/host/system-ports.ts';
import {
  desktopCall,
  McpCaller,
  makeToken,
  plainSync,
  type Relay,
  sharedSession,
  startRelay,
  startWorld,
  type World,
} from './relay-world.ts';
import { expectProcesses, LIGHT, until, within } from './support.ts';

expectProcesses(t);

const KILLS = 25;
const SESSION = 'gs_0123456789abcdef0123456789abcdef';

/** A desktop shares a session with one sync, and goes away. */
async function shareByHand({ url, desktopToken }: { url: string; desktopToken: string }): Promise<void> {
  const { status } = await desktopCall(
    { url, token: desktopToken },
    'sync',
    plainSync({ projects: sharedSession(SESSION) }),
  );
  if (status !== 200) throw new Error(`sync: status ${status}`);
}

t.test(`after kill -9 right after a ticket, ${KILLS} times, each ticket is there and queued (C91)`, async (t) => {
  const world = await startWorld(t);
  await shareByHand(world);
  let relay: Relay = { process: world.process, url: world.url };
  const tickets: string[] = [];
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const agent = new McpCaller(relay.url, world.agent.token);
    const ticket = await agent.start(SESSION, { kill });
    const ended = relay.process.end('SIGKILL');
    tickets.push(ticket.command_id);
    t.equal((await ended).signal, 'SIGKILL');
    relay = await startRelay(t, world.data, { env: LIGHT });
    const after = new McpCaller(relay.url, world.agent.token);
    const views = await Promise.all(tickets.map((id) => after.get(id)));
    const queued = views.filter((view, i) => view.command_id === tickets[i] && view.status === 'queued');
    t.equal(queued.length, kill, `all ${kill} tickets are there after kill ${kill}`);
    t.equal(views.at(-1)?.ahead, kill - 1, 'in their order');
  }
  t.same(await relay.process.end(), { code: 0, signal: null });
});

t.test('after SIGTERM right after a ticket, the ticket is there (C91)', async (t) => {
  const world = await startWorld(t);
  await shareByHand(world);
  const key = systemIds.uuid();
  const input = { graph_session_id: SESSION, arguments: { n: 1 }, idempotency_key: key };
  const ticket = await world.agent.call<{ command_id: string }>('run_graph_session', input);
  t.same(await world.process.end('SIGTERM'), { code: 0, signal: null });
  const relay = await startRelay(t, world.data);
  const agent = new McpCaller(relay.url, world.agent.token);
  t.equal((await agent.get(ticket.command_id)).status, 'queued');
  const replayed = await agent.call<{ command_id: string; replayed: boolean }>('run_graph_session', input);
  t.match(replayed, { command_id: ticket.command_id, replayed: true }, 'the key is known too');
});

t.test('SIGTERM while calls are held: each gets its answer, and the relay ends with 0', async (t) => {
  const world = await startWorld(t);
  await shareByHand(world);
  const { command_id } = await world.agent.start(SESSION);
  const runWait = world.agent.get(command_id, 50);
  const otherToken = await makeToken(world.data, 'desktop', 'other');
  const heldSync = desktopCall({ url: world.url, token: otherToken }, 'sync', plainSync({ hold_ms: 20_000 }));
  await until('the sync to be held', () => isConnected(world, 'other'));
  t.same(await world.process.end('SIGTERM'), { code: 0, signal: null });
  const sync = await within(heldSync, 'the answer of the held sync');
  t.equal(sync.status, 200);
  t.match(sync.answer, { epoch: 1, commands: [] });
  t.match(await within(runWait, 'the answer of get_graph_run'), { status: 'queued' });
});

/** The log tells of a desktop's first sync; the hold follows in the same turn or after one write. */
function isConnected({ process }: World, _name: string): boolean {
  return process.log.filter((line) => line.event === 'desktop.connected').length === 2;
}

t.test('a client that keeps its connection open, or sends half a request, does not hold up the end', async (t) => {
  const { process, url } = await startWorld(t);
  const { hostname, port } = new URL(url);
  const half = connect(Number(port), hostname);
  const idle = connect(Number(port), hostname);
  t.teardown(() => half.destroy());
  t.teardown(() => idle.destroy());
  for (const socket of [half, idle]) socket.on('error', () => {});
  half.write('POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"half":');
  idle.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
  await new Promise((answered) => idle.once('data', answered));
  t.same(await process.end('SIGTERM'), { code: 0, signal: null });
});
