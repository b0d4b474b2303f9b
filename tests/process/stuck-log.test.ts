/** Logs that nobody can take, or nobody reads: runs go on, and the process neither grows nor stands still. */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LogSink } from '../../protocol/host/log-sink.ts';
import { graphSource, McpCaller, makeToken, shareOnline, startRelay, writeGraph } from './relay-world.ts';
import { expectProcesses, launch, type Running, tempFolder, until } from './support.ts';

expectProcesses(t);

const skip = process.platform === 'linux' ? false : 'it takes /dev/full, named pipes and /proc';
const MEGABYTE = 1024 * 1024;

interface Stuck {
  readonly relay: Running;
  readonly desktop: Running;
  readonly agent: McpCaller;
  readonly session: string;
}

/** A relay and a desktop that log into one of these files each, and one shared Graph. */
async function startOn(t: Test, [relayLog, desktopLog]: readonly [number, number]): Promise<Stuck> {
  const data = await tempFolder(t);
  const { process: relay, url } = await startRelay(t, data, { stdout: relayLog });
  await writeGraph(data, 'sum.js', graphSource('sum', 'return args.a + args.b;'));
  const agent = new McpCaller(url, await makeToken(data, 'agent', 'tester'));
  const token = await makeToken(data, 'desktop', 'laptop');
  const args = ['desktop', '--relay', url, '--data', data, '--log-level', 'debug'];
  const desktop = launch(t, args, { env: { GRAPH_RELAY_TOKEN: token }, stdout: desktopLog });
  await desktop.ready;
  const session = await shareOnline(data, 'sum.js');
  await agent.onlySession();
  return { relay, desktop, agent, session };
}

async function runs(t: Test, { agent, session }: Stuck): Promise<void> {
  for (let n = 0; n < 3; n++) {
    const { command_id } = await agent.start(session, { a: 40, b: n });
    t.match(await agent.end(command_id), { status: 'completed', result: 40 + n });
  }
}

t.test('with a full log disk on both sides runs are taken, run and delivered (C107)', { skip }, async (t) => {
  const full = openSync('/dev/full', 'w');
  t.teardown(() => closeSync(full));
  const stuck = await startOn(t, [full, full]);
  await runs(t, stuck);
  for (const each of [stuck.desktop, stuck.relay]) {
    t.same(await each.end(), { code: 0, signal: null });
    t.equal(each.stderr.match(/The log cannot be written/g)?.length, 1, 'it is said once');
  }
});

/** Opened for reading too, so that opening does not wait for a reader; but nobody reads. */
async function unreadPipe(t: Test): Promise<number> {
  const path = join(await tempFolder(t), 'log');
  execFileSync('mkfifo', [path]);
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  t.teardown(() => closeSync(pipe));
  return pipe;
}

t.test('a log that nobody reads keeps nobody waiting (C107)', { skip }, async (t) => {
  const stuck = await startOn(t, [await unreadPipe(t), await unreadPipe(t)]);
  const calls = async (count: number) => {
    for (let n = 0; n < count; n += 10) await Promise.all(Array.from({ length: 10 }, () => stuck.agent.sessions()));
  };
  // Until pipe and sink are full, which takes some thousand lines.
  while (!/nobody reads it/.test(stuck.relay.stderr)) await calls(100);
  await calls(500);
  await runs(t, stuck);
  for (const each of [stuck.desktop, stuck.relay]) t.same(await each.end(), { code: 0, signal: null });
});

t.test(
  'of a hundred megabytes that nobody reads a log keeps one, and it goes on when they are read (C107)',
  { skip },
  async (t) => {
    const pipe = await unreadPipe(t);
    const sink = new LogSink(pipe);
    const line = `${'x'.repeat(1_023)}\n`;
    for (let n = 0; n < 100_000; n++) sink.write(line);
    const last = 'after it\n';
    let read = '';
    const room = Buffer.alloc(MEGABYTE);
    await until('the line after it', () => {
      sink.write(last);
      try {
        for (;;) read += room.toString('latin1', 0, readSync(pipe, room));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      }
      return read.endsWith(last);
    });
    const kept = read.replaceAll(last, '').length;
    t.equal(kept % line.length, 0, 'whole lines');
    t.ok(kept > MEGABYTE / 2 && kept <= 1.5 * MEGABYTE, `${kept} bytes were kept`);
  },
);
