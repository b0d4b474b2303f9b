/** What an owner's machine does around a sleep: the words of a hook, and what logind says, with real processes. */
import { appendFile, chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { DesktopPresence } from '../../server/agent-api.ts';
import { graphSource, shareOffline, startDesktop, startWorld, type World, writeGraph } from './relay-world.ts';
import { expectProcesses, type Running, run, until } from './support.ts';

expectProcesses(t);

async function startShared(t: Test, env: Readonly<Record<string, string>> = {}): Promise<World & { desktop: Running }> {
  const world = await startWorld(t);
  const { data, url, desktopToken: token } = world;
  await writeGraph(data, 'work.js', graphSource('work', 'return 1;'));
  await shareOffline(t, data, 'work.js');
  const desktop = await startDesktop(t, { data, url, token, env });
  await presence(world, ({ online }) => online);
  return { ...world, desktop };
}

/** What an MCP client is shown, as soon as it is as expected. */
function presence(world: World, fits: (desktop: DesktopPresence) => boolean): Promise<DesktopPresence> {
  return until('the presence that agents see', async () => {
    const { sessions } = await world.agent.sessions();
    return sessions[0] !== undefined && fits(sessions[0].desktop) && sessions[0].desktop;
  });
}

t.test('a hook says that the machine sleeps, callers see since when, and awake brings the desktop back', async (t) => {
  const world = await startShared(t);
  const say = (word: string, ...more: string[]) => run(t, ['desktop', word, '--data', world.data, ...more]);
  t.match(await say('asleep'), { code: 0, stderr: /The relay shows this desktop as asleep/ });
  const asleep = await presence(world, () => true);
  t.match(asleep, { online: false, since: null, asleep: true, asleep_since: /^\d{4}-\d\d-\d\dT/ });
  t.match(await run(t, ['desktop', 'status', '--data', world.data]), { stdout: /^not connected: .*about to sleep/ });
  const [session] = (await world.agent.sessions()).sessions;
  const ticket = await world.agent.start(session!.graph_session_id);
  t.match(ticket, { status: 'queued', desktop: { asleep: true, asleep_since: asleep.asleep_since } });

  t.match(await say('awake', '--json'), { code: 0, stdout: '{"running":true}\n' });
  t.match(await world.agent.end(ticket.command_id), { status: 'completed', desktop: { online: true, asleep: false } });
});

t.test('a hook does not fail when no desktop runs', async (t) => {
  const { data } = await startWorld(t);
  for (const word of ['asleep', 'awake']) {
    t.match(await run(t, ['desktop', word, '--data', data]), { code: 0, stderr: /does not run/ });
  }
  const { stdout } = await run(t, ['desktop', 'asleep', '--data', data, '--json']);
  t.strictSame(JSON.parse(stdout), { running: false, told: false });
});

t.test('what logind says needs no hook', { skip: process.platform !== 'linux' && 'there is no logind' }, async (t) => {
  const world = await startWorld(t);
  const programs = join(world.data, 'programs');
  const signals = join(world.data, 'signals');
  await mkdir(programs);
  await writeFile(signals, 'Monitoring signals from all objects owned by org.freedesktop.login1\n');
  const gdbus = join(programs, 'gdbus');
  await writeFile(gdbus, `#!/bin/sh\nexec tail -n +1 -f '${signals}'\n`);
  await chmod(gdbus, 0o755);
  const { data, url, desktopToken: token } = world;
  await writeGraph(data, 'work.js', graphSource('work', 'return 1;'));
  await shareOffline(t, data, 'work.js');
  const desktop = await startDesktop(t, { data, url, token, env: { PATH: `${programs}:${process.env.PATH}` } });
  await presence(world, ({ online }) => online);
  const says = (word: boolean) =>
    appendFile(signals, `/org/freedesktop/login1: org.freedesktop.login1.Manager.PrepareForSleep (${word},)\n`);
  await says(true);
  t.match(await presence(world, ({ online }) => !online), { asleep: true });
  await says(false);
  t.match(await presence(world, ({ online }) => online), { asleep: false });
  t.match(await desktop.end(), { code: 0 }, 'the program does not keep it');
});

t.test(
  'a desktop without gdbus runs as any other, and says so once',
  { skip: process.platform !== 'linux' && 'there is no logind' },
  async (t) => {
    const world = await startShared(t, { PATH: '/nonexistent' });
    t.match(await world.desktop.line('sleep.not-watched'), { level: 'info', reason: String });
    t.match(await world.desktop.end(), { code: 0 });
    t.equal(world.desktop.log.filter(({ event }) => event === 'sleep.not-watched').length, 1);
  },
);
