/** Results that are far too large, with real processes: nothing of them is kept, and everybody is told. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { RunView } from '../../server/agent-api.ts';
import {
  desktopCall,
  graphSource,
  McpCaller,
  makeToken,
  plainSync,
  sharedSession,
  shareOnline,
  startDesktop,
  startRelay,
  startWorld,
  writeGraph,
} from './relay-world.ts';
import { expectProcesses } from './support.ts';

expectProcesses(t);

const MEGABYTE = 1_000_000;

/** Bytes of all files in this folder. */
async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

t.test(
  'a Graph that returns megabytes or 65,000 parts leaves a small state, and all see that it was cut (C82)',
  async (t) => {
    const world = await startWorld(t);
    const { data, desktopToken } = world;
    const parts = "if (args.parts) return Array.from({ length: args.parts }, (_, n) => ({ type: 'text', n }));";
    await writeGraph(data, 'big.js', graphSource('big', `${parts}\nreturn 'x'.repeat(args.chars);`));
    const desktop = await startDesktop(t, { data, url: world.url, token: desktopToken });
    const session = await shareOnline(data, 'big.js');
    await world.agent.onlySession();
    const run = async (args: Record<string, unknown>): Promise<RunView> => {
      const { command_id } = await world.agent.start(session, args);
      return world.agent.end(command_id);
    };
    const views = [
      await run({ chars: 10 * MEGABYTE }),
      await run({ parts: 65_000 }),
      await run({ chars: 60 * MEGABYTE }),
    ];
    const [long, many, huge] = views as [RunView, RunView, RunView];
    const cut = { status: 'completed', result_truncated: true, result_limit_chars: 100_000 };
    t.match(long, cut);
    t.ok(long.result_chars! > 10 * MEGABYTE);
    t.match(many, cut);
    t.match(huge, { status: 'failed', error: /60000002 characters of JSON|needed more than its 64 MiB of memory/ });
    t.match(
      await run({ chars: 1_000 }),
      { status: 'completed', result: 'x'.repeat(1_000) },
      'and the next one is whole',
    );
    const told = desktop.log.filter(({ event }) => event === 'run.result-cut');
    t.match(
      told,
      [long, many].map(({ command_id, result_chars }) => ({
        level: 'warn',
        command_id,
        result_chars,
        limit_chars: 100_000,
      })),
      "in the desktop's log",
    );
    t.equal(told.length, 2);

    t.same(await desktop.end(), { code: 0, signal: null });
    t.same(await world.process.end(), { code: 0, signal: null });
    for (const part of ['server', 'desktop']) {
      const bytes = await sizeOf(join(data, part));
      t.ok(bytes < 100_000, `${part} keeps ${bytes} bytes`);
    }
    const relay = await startRelay(t, data);
    const agent = new McpCaller(relay.url, world.agent.token);
    t.equal((await agent.sessions()).sessions.length, 1);
    for (const { command_id, desktop: _now, ...view } of views) t.match(await agent.get(command_id), view);
  },
);

t.test('a desktop that posts 60 MB is refused, and the relay keeps nothing and goes on (C82)', async (t) => {
  const world = await startWorld(t);
  const { url, data } = world;
  const graph = 'gs_0123456789abcdef0123456789abcdef';
  const by = { url, token: world.desktopToken };
  const sync = plainSync({ projects: sharedSession(graph), capacity: 1 });
  await desktopCall(by, 'sync', sync);
  const { command_id } = await world.agent.start(graph);
  t.match((await desktopCall(by, 'sync', sync)).answer.commands, [{ command_id }]);
  const execution = { command_id, execution_id: sync.instance_id };
  await desktopCall(by, 'control', { ...execution, phase: 'starting', hold_ms: 0 });
  const report = { ...execution, status: 'completed', result: 'x'.repeat(60 * MEGABYTE) };
  // It may close the connection before all is sent.
  const status = await desktopCall(by, 'complete', report).then(
    (answer) => answer.status,
    () => 'closed',
  );
  t.ok(status === 413 || status === 'closed', String(status));
  const other = { url, token: await makeToken(data, 'desktop', 'other') };
  t.equal((await desktopCall(other, 'sync', plainSync())).status, 200);
  t.equal((await world.agent.sessions()).sessions.length, 1);
  t.match(await world.agent.get(command_id), { status: 'running' });
  const small = { ...execution, status: 'completed', result_truncated: true, result_chars: 60 * MEGABYTE };
  t.equal((await desktopCall(by, 'complete', small)).status, 200);
  t.match(await world.agent.get(command_id), { status: 'completed', result_truncated: true });
  t.same(
    world.process.log.filter(({ level }) => level === 'error'),
    [],
  );
  t.same(await world.process.end(), { code: 0, signal: null });
  t.ok((await sizeOf(join(data, 'server'))) < 100_000);
});
