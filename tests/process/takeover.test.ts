/** The same desktop, started again: after a kill, beside a copy of itself, and while the relay still holds its old poll. */
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { RESTARTED_DURING_RUN } from '../../protocol/texts.ts';
import type { RunView } from '../../server/agent-api.ts';
import { startFaultProxy } from '../faults/fault-proxy.ts';
import { type AgentProgram, agentProgram } from './agent-program.ts';
import { graphSource, shareOffline, startDesktop, startWorld, type World, writeGraph } from './relay-world.ts';
import { expectProcesses, isAlive, LIGHT, type Running, run, tempFolder, until } from './support.ts';

expectProcesses(t);

const REPLACED = /A newer instance of this desktop has connected.*give each a desktop token of its own/;

/** A world whose Graph `work` asks one agent, which answers as soon as the file `go` is there. */
async function waitingWorld(t: Test) {
  const world = await startWorld(t);
  const desk = await tempFolder(t);
  await writeGraph(desk, 'work.js', graphSource('work', "return { n: args.n, said: await agent('do it') };"));
  const go = join(world.data, 'go');
  const program = await agentProgram(t, world.data, `until [ -e ${go} ]; do sleep 0.05; done; echo done`);
  const session = await shareOffline(t, desk, 'work.js');
  return { world, desk, program, session, letGo: () => writeFile(go, '') };
}

interface Start {
  readonly data: string;
  readonly url?: string;
  readonly env?: Readonly<Record<string, string>>;
}

function desktopOf(t: Test, { world, program }: { world: World; program: AgentProgram }, start: Start) {
  return startDesktop(t, {
    url: world.url,
    token: world.desktopToken,
    args: ['--agent-command', program.command],
    ...start,
  });
}

/** Lines that tell of a connection that did not work at once. */
function troubles({ log }: Running): unknown[] {
  const told = ['relay.refused', 'relay.retrying', 'relay.disconnected', 'relay.hold-cut'];
  return log.filter(({ event }) => event !== undefined && told.includes(event));
}

t.test(
  'a desktop that was killed takes over at once when it is started again, and its run is judged (C32, C62)',
  async (t) => {
    const given = await waitingWorld(t);
    const { world, desk, program, session } = given;
    const first = await desktopOf(t, given, { data: desk, env: LIGHT });
    await first.line('relay.connected');
    await world.agent.onlySession();
    const running = await world.agent.start(session, { n: 1 });
    const waiting = await world.agent.start(session, { n: 2 });
    await world.agent.running(running.command_id);
    await until('the first agent', async () => (await program.pids()).length === 1);
    await first.end('SIGKILL');

    await given.letGo();
    const second = await desktopOf(t, given, { data: desk });
    t.match(await second.line('relay.connected'), { epoch: 2 });
    t.match(await world.agent.end(running.command_id), { status: 'failed', error: RESTARTED_DURING_RUN });
    const next = await world.agent.end(waiting.command_id);
    t.match(next, { status: 'completed', result: { n: 2, said: 'done' } });
    t.same(troubles(second), [], 'nobody told it to wait');
    t.equal((await program.pids()).length, 2, 'each command has run once');
    const epochs = world.process.log.filter(({ event }) => event === 'desktop.connected').map(({ epoch }) => epoch);
    t.same(epochs, [1, 2]);
    t.same(await second.end(), { code: 0, signal: null });
  },
);

t.test(
  'of two desktops with one identity the older ends and says why, and each of ten jobs runs once (C33)',
  async (t) => {
    const given = await waitingWorld(t);
    const { world, desk, program, session } = given;
    const copy = await tempFolder(t);
    await cp(desk, copy, { recursive: true });
    const older = await desktopOf(t, given, { data: desk });
    await older.line('relay.connected');
    await world.agent.onlySession();
    const tickets = [];
    for (let n = 1; n <= 10; n++) tickets.push(await world.agent.start(session, { n }));
    await until('the first agent', async () => (await program.pids()).length === 1);

    const newer = await desktopOf(t, given, { data: copy });
    await newer.line('relay.connected');
    t.same(await older.ended, { code: 20, signal: null });
    t.match(await older.line('relay.refused'), { level: 'error', code: 'session-replaced', reason: REPLACED });
    const [stopped] = await program.pids();
    await until('the end of its agent', () => !isAlive(stopped!));
    await given.letGo();
    const ends: RunView[] = [];
    for (const { command_id } of tickets) ends.push(await world.agent.end(command_id));
    t.match(ends[0], { status: 'failed', error: RESTARTED_DURING_RUN }, 'nobody can know how far the older one came');
    for (const [index, end] of ends.entries()) {
      if (index > 0) t.match(end, { status: 'completed', result: { n: index + 1, said: 'done' } });
    }
    t.equal((await program.pids()).length, 10, 'ten jobs, ten runs');
    await checkStatus(t, desk);
    t.same(await newer.end(), { code: 0, signal: null });
    t.match(await run(t, ['desktop', 'status', '--data', copy]), { code: 0, stdout: 'not running\n' });
  },
);

/** The owner sees it in the status of the one that ended, until it is started again. */
async function checkStatus(t: Test, data: string): Promise<void> {
  const shown = await run(t, ['desktop', 'status', '--data', data]);
  t.equal(shown.code, 0, shown.stderr);
  t.match(shown.stdout, /^not running: it ended at \d{4}-\d\d-\d\dT[\d:.]+Z\. /);
  t.match(shown.stdout, REPLACED);
  const json = await run(t, ['desktop', 'status', '--json', '--data', data]);
  t.match(JSON.parse(json.stdout), { connected: false, trouble: REPLACED, ended: { code: 'session-replaced' } });
}

t.test(
  'a desktop that starts anew while its old poll is still registered gets its work at once, each time (C59)',
  async (t) => {
    const given = await waitingWorld(t);
    const { world, desk, session } = given;
    await given.letGo();
    const proxy = await startFaultProxy({ target: Number(new URL(world.url).port) });
    t.teardown(() => proxy.close());
    let current = await desktopOf(t, given, { data: desk, url: proxy.url, env: LIGHT });
    await current.line('relay.connected');
    await world.agent.onlySession();
    await world.agent.end((await world.agent.start(session, { n: 0 })).command_id);
    for (let restart = 1; restart <= 3; restart++) {
      // The relay hears nothing of the end: the poll stays open on its side.
      proxy.swallowOpen();
      await current.end('SIGKILL');
      const { command_id } = await world.agent.start(session, { n: restart });
      current = await desktopOf(t, given, { data: desk, url: proxy.url, env: LIGHT });
      t.match(await current.line('relay.connected'), { epoch: restart + 1 });
      t.match(await world.agent.end(command_id), { status: 'completed', result: { n: restart } });
      t.same(troubles(current), [], 'no refusal and no pause');
      t.ok(proxy.open > restart, 'the relay has no word of the end of the old connections');
    }
    t.equal((await given.program.pids()).length, 4);
  },
);
