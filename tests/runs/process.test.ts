/** A relay, a desktop and its owner's commands as real processes: what ran is shown, ended, and run once more. */
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { RunSummary } from '../../desktop-agent/runs/record-reader.ts';
import { CANCELLED_BY_OWNER } from '../../desktop-agent/runs/run-desk.ts';
import { RESTARTED_DURING_RUN } from '../../protocol/texts.ts';
import { agentProgram } from '../process/agent-program.ts';
import {
  type DesktopOptions,
  graphSource,
  shareOnline,
  startDesktop,
  startWorld,
  type World,
  writeGraph,
} from '../process/relay-world.ts';
import {
  expectProcesses,
  type Finished,
  LIGHT,
  launch,
  type Running,
  run,
  tempFolder,
  until,
} from '../process/support.ts';

expectProcesses(t);

const PRAISE = graphSource(
  'praise',
  `phase('Asking');
   const words = await parallel(args.names.map((name) => () => agent('Praise ' + name, { label: name })));
   log('all are praised');
   return { words, big: 'x'.repeat(args.chars ?? 0) };`,
);

function owner(t: Test, data: string, ...args: string[]): Promise<Finished> {
  return run(t, ['desktop', ...args, '--data', data]);
}

async function works(t: Test, data: string, ...args: string[]): Promise<string> {
  const ended = await owner(t, data, ...args);
  t.equal(ended.code, 0, `desktop ${args.join(' ')}: ${ended.stderr}`);
  return ended.stdout;
}

async function listed(t: Test, data: string): Promise<RunSummary[]> {
  return JSON.parse(await works(t, data, 'runs', '--json')) as RunSummary[];
}

/** A desktop that shares this Graph, and the session's id. */
async function sharing(
  t: Test,
  world: World,
  graph: { file: string; source: string } & Pick<DesktopOptions, 'args' | 'env'>,
): Promise<{ desktop: Running; session: string }> {
  const { data, url, desktopToken: token } = world;
  const { file, source, ...options } = graph;
  await writeGraph(data, file, source);
  const desktop = await startDesktop(t, { data, url, token, ...options });
  const session = await shareOnline(data, file);
  await world.agent.onlySession();
  return { desktop, session };
}

/** A desktop on which two agents praised two names, once with a long result; it has stopped. */
async function praised(t: Test) {
  const world = await startWorld(t);
  const { data } = world;
  const program = await agentProgram(t, data, 'echo well done');
  const { desktop, session } = await sharing(t, world, {
    file: 'praise.js',
    source: PRAISE,
    args: ['--agent-command', program.command],
    env: { SOME_API_KEY: 'sk-never-written-down' },
  });
  const names = ['Ada', 'Grace'];
  const { command_id: small } = await world.agent.start(session, { names });
  await world.agent.end(small);
  const { command_id: large } = await world.agent.start(session, { names, chars: 300_000 });
  t.match(await world.agent.end(large), { status: 'completed', result_truncated: true }, 'too long for the relay');
  const online = { runs: await listed(t, data), shown: await works(t, data, 'show', small.slice(0, 8)) };
  await desktop.end();
  return { world, data, program, small, large, online };
}

t.test('a run through MCP is listed and shown, the same with the desktop running and not', async (t) => {
  const { data, small, large, online } = await praised(t);
  const offline = await listed(t, data);
  t.same(offline, online.runs, 'the same from the files');
  t.match(offline, [
    { command_id: large, status: 'completed', graph: 'praise', version: 1, project_id: 'home', incomplete: false },
    { command_id: small, status: 'completed', error: null, waits_for: null },
  ]);
  t.ok((offline[1]?.total_tokens ?? 0) > 0);
  const line = new RegExp(`^${large.slice(0, 8)} .*praise v1 +completed.*home\n$`);
  t.match(await works(t, data, 'runs', '--limit', '1'), line);

  const shown = await works(t, data, 'show', small);
  t.equal(shown, online.shown);
  const parts = [
    /Graph +praise v1, for project home/,
    /── Asking/,
    /▸ Ada/,
    /✓ Grace .* tokens/,
    /all are/,
    /completed: /,
  ];
  for (const part of parts) t.match(shown, part);
  t.match(await works(t, data, 'show', small, '--prompts'), /│ Praise Ada[\s\S]*│ well done/);
  const events = (await works(t, data, 'show', small, '--events')).trimEnd().split('\n');
  t.match(JSON.parse(events[0] ?? ''), { n: 1, event: { type: 'fleet_started' } });
  t.match(JSON.parse(events.at(-1) ?? ''), { n: events.length, event: { type: 'finished', status: 'completed' } });
  const whole = JSON.parse(await works(t, data, 'show', 'last', '--result'));
  t.equal(whole.big.length, 300_000, 'what the relay did not take is here');
  const unknown = { code: 1, stderr: /There is no run "ffffffff".*\[unknown-command\]/ };
  t.match(await owner(t, data, 'show', 'ffffffff'), unknown);
});

t.test('a run through MCP is replayed: nobody is asked but for what is new, and only when told to', async (t) => {
  const { data, program, small } = await praised(t);
  const asked = (await program.pids()).length;
  const again = await owner(t, data, 'replay', small);
  t.equal(again.code, 0, again.stderr);
  t.match(again.stderr, /reused +2 agents \(\d+ tokens, not paid again\)/);
  t.match(again.stderr, /events +the same, in the same order\nresult +the same as in the record/);
  t.same(JSON.parse(again.stdout).words, ['well done', 'well done']);

  const other = PRAISE.replace("'Praise ' + name", "'Praise ' + (name === 'Ada' ? 'her' : name)");
  await writeGraph(data, 'edited.js', other.replace("slug: 'praise'", "slug: 'edited'"));
  const replayed = (...more: string[]) => owner(t, data, 'replay', small, '--graph', 'edited', '--json', ...more);
  const edited = await replayed();
  t.equal(edited.code, 30, 'a run that failed');
  t.match(JSON.parse(edited.stdout), {
    status: 'failed',
    error: /agent "Ada" is not in the record of this run/,
    reused: [{ name: 'Grace' }],
    refused: [{ kind: 'agent', name: 'Ada' }],
    unused: [{ kind: 'agent', name: 'Ada' }],
  });
  t.equal((await program.pids()).length, asked, 'nobody was asked');
  const news = await agentProgram(t, join(data, 'graphs'), 'echo news');
  t.match(JSON.parse((await replayed('--ask', '--agent-command', news.command)).stdout), {
    status: 'completed',
    asked: [{ name: 'Ada' }],
    differences: [{ path: 'result.words[0]', before: 'well done', after: 'news' }],
  });
  t.equal((await news.pids()).length, 1);
});

t.test("records are for the owner's eyes, and hold nothing of the environment and no token", async (t) => {
  const { data, world } = await praised(t);
  const folder = join(data, 'desktop', 'runs');
  t.equal((await stat(folder)).mode & 0o777, 0o700);
  const files = await readdir(folder);
  t.equal(files.length, 3, 'two records, and a long result');
  for (const file of files) {
    t.equal((await stat(join(folder, file))).mode & 0o777, 0o600, file);
    const text = await readFile(join(folder, file), 'utf8');
    for (const secret of ['sk-never-written-down', world.desktopToken, world.agent.token])
      t.notOk(text.includes(secret));
  }
});

t.test(
  'the owner cancels a run over the local socket while the relay holds it, and its caller sees that',
  async (t) => {
    const world = await startWorld(t);
    const { data } = world;
    const program = await agentProgram(t, data, 'exec sleep 600');
    const { session } = await sharing(t, world, {
      file: 'slow.js',
      source: graphSource('slow', "return await agent('wait', { label: 'sleeper' });"),
      args: ['--agent-command', program.command],
    });
    const { command_id } = await world.agent.start(session);
    await world.agent.running(command_id);
    await until('the agent', async () => (await program.pids()).length === 1);
    t.match(await listed(t, data), [{ command_id, status: 'running', ended_at: null }]);
    const follower = launch(t, ['desktop', 'show', command_id, '--follow', '--data', data]);
    await until('its agent in the live view', () => follower.stdout.includes('▸ sleeper'));

    const held = world.agent.get(command_id, 20);
    t.match(await owner(t, data, 'cancel', 'last'), { code: 0, stderr: /is cancelled\. Its caller sees that\./ });
    t.match(await held, { status: 'cancelled', error: CANCELLED_BY_OWNER });
    t.same(await follower.ended, { code: 0, signal: null }, 'the live view ends with the run');
    t.match(follower.stdout, /cancelled: .*\n.*The owner cancelled the run on the desktop\./);
    t.match(await listed(t, data), [{ command_id, status: 'cancelled', error: CANCELLED_BY_OWNER }]);
    t.match(await owner(t, data, 'cancel', command_id), {
      code: 1,
      stderr: /has ended \(cancelled\): there is nothing to cancel\. \[execution-refused\]/,
    });
    const replayed = await owner(t, data, 'replay', 'last', '--json');
    t.match(JSON.parse(replayed.stdout), { status: 'failed', error: /the run ended before it was answered/ });
  },
);

t.test(
  'a run whose desktop was killed is shown as such, and the live view of all runs ends with the desktop',
  async (t) => {
    const world = await startWorld(t);
    const { data, url, desktopToken: token } = world;
    const program = await agentProgram(t, data, 'exec sleep 600');
    const { desktop, session } = await sharing(t, world, {
      file: 'slow.js',
      source: graphSource('slow', "log('begun'); return await agent('wait');"),
      args: ['--agent-command', program.command],
    });
    const { command_id } = await world.agent.start(session);
    await until('the agent', async () => (await program.pids()).length === 1);
    await until('the record', async () => (await works(t, data, 'show', 'last')).includes('begun'));
    await desktop.end('SIGKILL');
    const died = { command_id, status: 'failed', error: RESTARTED_DURING_RUN, ended_at: null, incomplete: true };
    t.match(await listed(t, data), [died], 'before it starts again');
    t.match(
      await works(t, data, 'show', command_id),
      /begun[\s\S]*failed: [\s\S]*the desktop restarted during the run/,
    );
    t.match(await owner(t, data, 'cancel', command_id), { code: 1, stderr: /The desktop does not run/ });
    t.match(await owner(t, data, 'events'), { code: 1, stderr: /The desktop does not run, so nothing happens there/ });

    const second = await startDesktop(t, { data, url, token, args: ['--agent-command', program.command] });
    t.match(await world.agent.end(command_id), { status: 'failed', error: RESTARTED_DURING_RUN });
    const [file = ''] = await readdir(join(data, 'desktop', 'runs'));
    const record = () => readFile(join(data, 'desktop', 'runs', file), 'utf8');
    await until('its end in the record', async () => (await record()).includes('{"kind":"end"'));
    t.match(await listed(t, data), [died], 'and after');

    const events = launch(t, ['desktop', 'events', '--json', '--data', data]);
    const quick = await quickSession(world);
    const ids: string[] = [];
    // It hears what comes from now on, and when it is ready is nobody's business: one of these runs is heard whole.
    await until('the end of a run', async () => {
      const { command_id: id } = await world.agent.start(quick);
      ids.push(id);
      await world.agent.end(id);
      return events.log.some(({ event }) => isFinished(event));
    });
    t.ok(events.log.every(({ command_id: id }) => ids.includes(String(id))));
    t.same(await second.end(), { code: 0, signal: null });
    t.match(await events.ended, { code: 1 }, 'nobody holds up the end of the desktop');
    t.match(events.stderr, /The desktop (stops|does not run)/);
  },
);

t.test('a run without the relay is in the history too, while it goes on and afterwards', async (t) => {
  const data = await tempFolder(t);
  const program = await agentProgram(t, data, 'test -f $(dirname $0)/go && echo done || exec sleep 600');
  await writeGraph(data, 'slow.js', graphSource('slow', "return await agent('wait');"));
  const runHere = ['desktop', 'run', 'slow', '--data', data, '--agent-command', program.command];
  const running = launch(t, runHere, { env: LIGHT });
  await until('the agent', async () => (await program.pids()).length === 1);
  const shown = await until('the record', async () => (await listed(t, data))[0]);
  t.match(shown, { status: 'running', graph: 'slow.js', project_id: null, error: null });
  t.match(await owner(t, data, 'show', 'last'), { stdout: /▸ agent 1[\s\S]*running: / });
  await running.end('SIGKILL');
  t.match(await listed(t, data), [{ status: 'failed', error: 'its process ended during the run' }]);

  await writeFile(join(data, 'go'), '');
  t.equal((await run(t, runHere)).stdout, 'done\n');
  t.match(await listed(t, data), [{ status: 'completed', graph: 'slow.js' }, { status: 'failed' }]);
  const replayed = JSON.parse(await works(t, data, 'replay', 'last', '--json'));
  t.match(replayed, { same_events: true, same_end: true, result: 'done' });
  t.equal((await program.pids()).length, 2, 'a replay asks nobody');
});

async function quickSession(world: World): Promise<string> {
  await writeGraph(world.data, 'quick.js', graphSource('quick', "log('hi'); return 1;"));
  const session = await until('the new Graph', () => shareOnline(world.data, 'quick.js').catch(() => false as const));
  await until('two sessions', async () => (await world.agent.sessions()).sessions.length === 2);
  return session;
}

function isFinished(event: unknown): boolean {
  return (event as { type?: string } | undefined)?.type === 'finished';
}
