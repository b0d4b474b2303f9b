/** A new token for the same agent or desktop: what the rows say, and what the relay does with whatever the old one opened. */
import t from 'tap';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import { systemClock, systemIds } from '../../protocol/host/system-ports.ts';
import { createAccess } from '../../server/access.ts';
import { RELAY_TABLES, type RelayTables } from '../../server/rows.ts';
import { ScriptedServerSocket } from '../contract/scripted-socket.ts';
import {
  createTestRelay,
  readRun,
  SECOND,
  session,
  startRun,
  syncInput,
  type TestRelay,
  uuid,
} from '../contract/support.ts';

function createOwner(store = createMemoryState<RelayTables>({ tables: RELAY_TABLES })) {
  let now = systemClock.now();
  const clock = { ...systemClock, now: () => ++now };
  const ended: string[] = [];
  const note = (how: string) => (row: { name: string }) => void ended.push(`${row.name} ${how}`);
  const ports = { ids: systemIds, clock };
  return {
    store,
    ended,
    access: createAccess({ store, ports, onRevoked: note('revoked'), onRotated: note('rotated') }),
  };
}

const AGENT = { kind: 'agent', name: 'Claude', projects: ['home'] } as const;
const DESKTOP = { kind: 'desktop', name: 'Mac mini' } as const;

t.test('a new token stands for the same one, the old one for nobody, also after a restart', async (t) => {
  const { access, store, ended } = createOwner();
  const [agent, desktop] = [await access.createToken(AGENT), await access.createToken(DESKTOP)];
  const newAgent = (await access.rotateToken('Claude'))!;
  const newDesktop = (await access.rotateToken(desktop.row.tokenId.toUpperCase()))!;
  t.match(newAgent.token, /^gra_[0-9a-f]{64}$/);
  t.not(newAgent.token, agent.token);
  const { hash: _old, createdAt: _then, ...same } = agent.row;
  t.match(newAgent.row, same);
  t.ok(newAgent.row.createdAt > agent.row.createdAt);
  for (const each of [access, createOwner(store).access]) {
    t.equal(each.agentOf(agent.token), null);
    t.equal(each.desktopOf(desktop.token), null);
    t.match(each.agentOf(newAgent.token), { agentId: agent.row.subjectId, name: 'Claude', projects: ['home'] });
    t.match(each.desktopOf(newDesktop.token), { desktopId: desktop.row.subjectId, name: 'Mac mini' });
    t.equal(each.listTokens().length, 2);
  }
  t.same(ended, ['Claude rotated', 'Mac mini rotated']);
  t.equal(await access.rotateToken('nobody'), null);
});

t.test('while the disk refuses, the old token goes on and nobody gets a new one', async (t) => {
  const { access, store, ended } = createOwner();
  const { token } = await access.createToken(DESKTOP);
  store.failWrites('the disk is full');
  await t.rejects(access.rotateToken('Mac mini'), { code: 'store-unavailable' });
  store.failWrites(null);
  t.ok(access.desktopOf(token));
  t.same(ended, [], 'nothing of it has ended');
  await store.synced();
  t.ok(createOwner(store).access.desktopOf(token));
});

t.test('of two that rotate at once one gets the token that works; a revocation meanwhile wins', async (t) => {
  const { access } = createOwner();
  const first = await access.createToken(AGENT);
  const both = await Promise.allSettled([access.rotateToken('Claude'), access.rotateToken('Claude')]);
  const made = both.flatMap((each) => (each.status === 'fulfilled' ? [each.value!.token] : []));
  t.equal(made.length, 1);
  t.ok(access.agentOf(made[0]!));
  t.equal(access.agentOf(first.token), null);
  const [rotated, revoked] = await Promise.allSettled([access.rotateToken('Claude'), access.revokeToken('Claude')]);
  t.equal(rotated.status, 'rejected');
  t.equal(revoked.status, 'fulfilled');
  t.same(access.listTokens(), []);
});

t.test('a desktop whose token was revoked can get a new one; an agent cannot: its runs have ended', async (t) => {
  const { access, store } = createOwner();
  const [agent, desktop] = [await access.createToken(AGENT), await access.createToken(DESKTOP)];
  await access.revokeToken('Claude');
  await access.revokeToken('Mac mini');
  t.notOk(JSON.stringify([...store.rows('token').values()]).includes(desktop.row.hash), 'its hash is not kept');
  t.equal(await access.rotateToken('Claude'), null);
  t.equal(await access.rotateToken(agent.row.tokenId), null);
  t.equal(await access.revokeToken('Mac mini'), null, 'it is not there to be revoked');
  const back = (await createOwner(store).access.rotateToken('Mac mini'))!;
  t.equal(back.row.subjectId, desktop.row.subjectId);
  t.notOk('revokedAt' in back.row);
  t.ok(createOwner(store).access.desktopOf(back.token));
});

t.test('a name that another desktop has taken since stays with that one', async (t) => {
  const { access } = createOwner();
  const old = await access.createToken(DESKTOP);
  await access.revokeToken('Mac mini');
  const other = await access.createToken(DESKTOP);
  t.equal((await access.rotateToken('Mac mini'))!.row.subjectId, other.row.subjectId);
  await t.rejects(access.rotateToken(old.row.tokenId), { code: 'invalid-input', message: /already/ });
});

t.test('revoked desktops are kept up to a hundred, the oldest go', async (t) => {
  const { access, store } = createOwner();
  for (let n = 1; n <= 103; n++) {
    await access.createToken({ kind: 'desktop', name: `d${n}` });
    await access.revokeToken(`d${n}`);
  }
  t.equal(store.rows('token').size, 100);
  t.equal(await access.rotateToken('d3'), null);
  t.ok(await access.rotateToken('d4'));
});

async function shared(): Promise<TestRelay & { rotate(name: string): Promise<string> }> {
  const world = await createTestRelay();
  await world.settle(world.trpc('sync', syncInput({ capacity: 0 })));
  return { ...world, rotate: async (name) => (await world.settle(world.relay.access.rotateToken(name)))!.token };
}

t.test(
  'what a desktop holds with its old token ends, over HTTP and WebSocket; its sessions and runs stay',
  async (t) => {
    const world = await shared();
    const { desktopId } = world.relay.access.desktopOf(world.desktops[0]!)!;
    const { command_id } = await startRun(world);
    const execution = { command_id, execution_id: uuid(7) };
    await world.settle(world.trpc('sync', syncInput()));
    await world.settle(world.trpc('control', { ...execution, phase: 'starting', hold_ms: 0 }));
    const socket = new ScriptedServerSocket();
    world.relay.acceptSocket(socket, desktopId);
    socket.call(1, 'probe', { hold_ms: 20 * SECOND });
    const held = world.trpc('control', { ...execution, phase: 'running', hold_ms: 20 * SECOND });
    await world.clock.advance(SECOND);
    const before = world.clock.monotonic();
    const authorization = `Bearer ${await world.rotate('d1')}`;
    t.match(await world.settle(held), { status: 401, body: { error: { data: { relayCode: 'unauthorized' } } } });
    t.equal(world.clock.monotonic(), before, 'at once');
    t.ok(socket.did.includes('close 4401'));

    const end = { ...execution, status: 'completed', result: 'kept', total_tokens: 0 };
    t.equal((await world.settle(world.trpc('complete', end))).status, 401, 'the old token reports nothing');
    const now = { headers: { authorization } };
    t.equal((await world.settle(world.trpc('complete', end, now))).status, 200, 'the new one does');
    t.match(await readRun(world, command_id), { status: 'completed', result: 'kept' });
    await world.settle(world.trpc('sync', syncInput({ capacity: 0 }), now));
    const { sessions } = await world.relay.agents.listSessions(world.agent, { project_id: 'home', limit: 5 });
    t.match(sessions, [{ graph_session_id: session(1).graph_session_id, desktop: { online: true } }]);
    t.equal(sessions.length, 1);
  },
);

t.test('what an agent waits for with its old token ends, and its runs go on for the new one', async (t) => {
  const world = await shared();
  const { command_id } = await startRun(world);
  const get = async (token: string, wait_seconds: number): Promise<string> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const accept = 'application/json, text/event-stream';
    const params = { name: 'get_graph_run', arguments: { command_id, wait_seconds } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const request = new Request('http://relay.test/mcp', { method: 'POST', headers: { ...headers, accept }, body });
    return (await world.relay.fetch(request)).text();
  };
  const waiting = get(world.agentToken, 50);
  await world.clock.advance(SECOND);
  const before = world.clock.monotonic();
  const token = await world.rotate('first');
  t.match(await world.settle(waiting), /replaced by a new one.*\[unauthorized\].*"isError":true/s);
  t.equal(world.clock.monotonic(), before, 'at once');
  t.match(await world.settle(get(world.agentToken, 0)), /not valid/);
  t.match(await world.settle(get(token, 0)), /"status":"queued"/);
  t.match(world.relay.access.agentOf(token), { agentId: world.agent.agentId });
});
