/** `desktop pause` and `resume`, on a desktop that runs and on one that does not, and over a restart. */
import t from 'tap';
import { graphSource, shareOnline, startDesktop, startWorld, writeGraph } from '../process/relay-world.ts';
import { expectProcesses, run, until } from '../process/support.ts';

expectProcesses(t);

t.test('a paused desktop takes nothing, says so, and goes on with what waited, also over a restart', async (t) => {
  const world = await startWorld(t);
  const { data, url, desktopToken, agent } = world;
  const owner = (...args: string[]) => run(t, ['desktop', ...args, '--data', data]);
  await writeGraph(data, 'one.js', graphSource('one', 'return 1;'));
  let desktop = await startDesktop(t, { data, url, token: desktopToken });
  const session = await shareOnline(data, 'one.js');
  await agent.onlySession();

  t.match(await owner('pause'), { code: 0, stdout: '', stderr: /^Paused: 0 runs going on.*desktop resume --data/ });
  t.match(await owner('pause'), { code: 0, stderr: /paused before, since \d{4}-.*Z\./ });
  t.match(await owner('status'), { stdout: /^paused since \d{4}-.*Z: it takes no new runs$/m });
  const { command_id } = await agent.start(session);
  await desktop.end();
  desktop = await startDesktop(t, { data, url, token: desktopToken });
  await desktop.line('relay.connected');
  t.match(JSON.parse((await owner('status', '--json')).stdout), { paused_since: /^\d{4}/, running: 0 });
  t.match(await agent.get(command_id), { status: 'queued' });

  t.match(JSON.parse((await owner('resume', '--json')).stdout), { paused_since: null, changed: true, running: 0 });
  t.match(await agent.end(command_id), { status: 'completed', result: 1 });
  t.match(await owner('resume'), { stderr: 'It was not paused.\n' });
  await desktop.end();

  t.match(await owner('pause'), { code: 0, stderr: /when the desktop runs again, it takes no new runs until/ });
  t.match(await owner('status'), { stdout: /^not running\npaused since \d{4}/ });
  desktop = await startDesktop(t, { data, url, token: desktopToken });
  await until('the pause in the log', () =>
    desktop.log.find(({ event, paused }) => event === 'desktop.started' && paused),
  );
  t.match(await owner('resume'), { stderr: 'Resumed: it takes runs again.\n' });
  await desktop.line('desktop.resumed');
});
