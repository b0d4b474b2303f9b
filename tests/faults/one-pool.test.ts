/** Many holds of one process over HTTP/1.1: each desktop has one held request, and nothing waits behind it. */
import t, { type Test } from 'tap';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { createHttpClient } from '../../desktop-agent/dialer/http-client.ts';
import { openSocket } from '../../desktop-agent/dialer/open-socket.ts';
import type { Dialer } from '../../desktop-agent/ports.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import { systemClock, systemIds, systemRandom } from '../../protocol/host/system-ports.ts';
import { graphSessionId } from '../../protocol/ids.ts';
import type { Log } from '../../protocol/ports.ts';
import type { SyncInput } from '../../protocol/schemas.ts';
import { listenHttp } from '../../server/http-server.ts';
import { createRelay } from '../../server/relay.ts';
import type { RelayTables } from '../../server/rows.ts';
import { startDesktop, waitFor } from './rig.ts';

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
/** A browser has six connections to one host; the seventh caller waits there without a word. */
const DESKTOPS = 7;
const HOLD_MS = 20_000;
const never = new AbortController().signal;

/** A relay that counts the requests that it has not answered yet, by path. */
async function countingRelay(t: Test, projects: readonly string[]) {
  const ports = { clock: systemClock, random: systemRandom, ids: systemIds, log: SILENT };
  const relay = createRelay({ ports, store: createMemoryState<RelayTables>({ clock: systemClock }) });
  const open = new Map<string, number>();
  const { server, url } = await listenHttp(
    async (request) => {
      const { pathname } = new URL(request.url);
      open.set(pathname, (open.get(pathname) ?? 0) + 1);
      const response = await relay.fetch(request);
      open.set(pathname, open.get(pathname)! - 1);
      return response;
    },
    { host: '127.0.0.1', port: 0 },
  );
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
    await relay.drain();
  });
  const { token } = await relay.access.createToken({ kind: 'agent', name: 'caller', projects });
  const desktopToken = async (name: string) => (await relay.access.createToken({ kind: 'desktop', name })).token;
  const held = () => open.get('/trpc/relay.sync') ?? 0;
  return { relay, url, held, desktopToken, caller: relay.access.agentOf(token)! };
}

t.test('quick calls of a process are answered while seven desktops in it hold a sync each (C26)', async (t) => {
  const { relay, url, held, desktopToken, caller } = await countingRelay(t, ['home']);
  const client = createHttpClient({ clock: systemClock, environment: {} });
  t.teardown(client.renew);
  const desktops: { dialer: Dialer; input: SyncInput }[] = [];
  for (let n = 1; n <= DESKTOPS; n++) {
    const token = await desktopToken(`desktop ${n}`);
    const dialers = createDialers({ url, token: () => token, clock: systemClock, open: openSocket, ...client });
    const graph = {
      graph_session_id: graphSessionId(systemIds.hex(16)),
      slug: `g${n}`,
      name: `G${n}`,
      description: '',
    };
    const projects = [{ project_id: 'home', sessions: [{ ...graph, version: 1, status: 'ready' as const }] }];
    const input = { instance_id: systemIds.uuid(), projects, holding: [], capacity: 1, hold_ms: 0 };
    desktops.push({ dialer: dialers['long-poll'], input });
  }
  for (const { dialer, input } of desktops) {
    const request = { arguments: {}, idempotency_key: systemIds.uuid() };
    await dialer.sync(input, { signal: never });
    const { graph_session_id } = input.projects[0]!.sessions[0]!;
    const { command_id } = await relay.agents.runSession(caller, { graph_session_id, ...request });
    t.match((await dialer.sync(input, { signal: never })).commands, [{ command_id }]);
    Object.assign(input, { holding: [command_id], capacity: 0 });
  }

  const ends = new AbortController();
  t.teardown(() => ends.abort());
  let answered = 0;
  for (const { dialer, input } of desktops) {
    const hold = dialer.sync({ ...input, hold_ms: HOLD_MS }, { signal: ends.signal });
    hold.then(() => answered++).catch(() => {});
  }
  await waitFor('all holds', 10_000, async () => (held() === DESKTOPS ? true : null));
  for (const { dialer, input } of desktops) {
    const ids = { command_id: input.holding[0]!, execution_id: systemIds.uuid() };
    t.match(await dialer.control({ ...ids, phase: 'starting', hold_ms: 0 }, { signal: never }), { cancel: false });
    t.match(await dialer.complete({ ...ids, status: 'completed', result: 1 }, { signal: never }), { stored: true });
  }
  t.equal(held(), DESKTOPS, 'every sync is still held: nothing waited for the end of one');
  t.equal(answered, 0);
});

t.test('a desktop holds one request, however many projects it serves (C26)', async (t) => {
  const projects = Array.from({ length: 12 }, (_, index) => `project-${index + 1}`);
  const { relay, url, held, desktopToken, caller } = await countingRelay(t, projects);
  const desktop = await startDesktop(t, { url, token: await desktopToken('laptop'), mode: 'long-poll' });
  for (const project of projects) await desktop.agent.sharing.share(project, desktop.sessionId);
  const listed = async (project_id: string) =>
    (await relay.agents.listSessions(caller, { project_id, limit: 1 })).sessions.length;
  await waitFor('all shares', 10_000, async () => ((await listed('project-12')) === 1 ? true : null));
  await waitFor('the hold', 10_000, async () => (held() === 1 ? true : null));
  for (const project of projects) {
    const agent = { ...caller, projects: [project] };
    const request = { graph_session_id: desktop.sessionId, arguments: { project }, idempotency_key: systemIds.uuid() };
    const { command_id } = await relay.agents.runSession(agent, request);
    const run = await waitFor(`the run of ${project}`, 30_000, async () => {
      const view = await relay.agents.getRun(agent, { command_id, waitMs: 1_000, signal: never });
      return view.status === 'completed' ? view : null;
    });
    t.match(run, { project_id: project, result: { project } });
    await waitFor('one hold, and no other', 10_000, async () => (held() === 1 ? true : null));
  }
});
