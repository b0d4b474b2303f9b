/** What the owner allows each run: by option or variable, for a run here, a desktop that runs, a check and the service. */
import t from 'tap';
import { graphSource, shareOffline, startDesktop, startWorld, writeGraph } from '../process/relay-world.ts';
import { expectProcesses, run, tempFolder } from '../process/support.ts';

expectProcesses(t);

const THREE = graphSource(
  'three',
  "const said = []; for (const n of [1, 2, 3]) said.push(await agent('number ' + n).catch((e) => e.name)); return said;",
);

t.test('no agent starts when the tokens that the owner allows are spent, whatever the Graph says', async (t) => {
  const data = await tempFolder(t);
  await writeGraph(data, 'three.js', THREE);
  const ended = await run(t, ['desktop', 'run', 'three', '--run-tokens', '1', '--json', '--quiet', '--data', data]);
  const [first, ...others] = JSON.parse(ended.stdout).result;
  t.match(first, /number 1/);
  t.same(others, ['BudgetExceeded', 'BudgetExceeded']);
});

t.test('a variable says the same as the option', async (t) => {
  const data = await tempFolder(t);
  await writeGraph(data, 'three.js', THREE);
  const env = { GRAPH_RELAY_RUN_AGENTS: '2' };
  const ended = await run(t, ['desktop', 'run', 'three', '--json', '--quiet', '--data', data], { env });
  const said = JSON.parse(ended.stdout).result;
  t.match(said[1], /number 2/);
  t.equal(said[2], 'AgentLimitExceeded');
});

t.test('the desktop holds the runs of a relay to it', async (t) => {
  const world = await startWorld(t);
  await writeGraph(world.data, 'three.js', THREE);
  const session = await shareOffline(t, world.data, 'three.js');
  const { data, url, desktopToken: token } = world;
  await startDesktop(t, { data, url, token, args: ['--run-tokens', '1'] });
  await world.agent.onlySession();
  const ended = await world.agent.end((await world.agent.start(session)).command_id);
  t.same((ended.result as string[]).slice(1), ['BudgetExceeded', 'BudgetExceeded']);
});

t.test('a check warns of a limit above it, and a wrong number is refused with its range', async (t) => {
  const data = await tempFolder(t);
  const source = "export const meta = { name: 'M', limits: { wall_ms: 120000 } }; return 1;";
  await writeGraph(data, 'm.js', source);
  const checked = await run(t, ['desktop', 'check', '--run-time', '1m', '--data', data]);
  t.match(checked.stdout, /`limits.wall_ms` is 120000, and this desktop allows 60000/);
  t.notMatch((await run(t, ['desktop', 'check', '--data', data])).stdout, /wall_ms/);
  const refused = await run(t, ['desktop', 'check', '--agents-at-once', '0', '--data', data]);
  t.equal(refused.code, 2);
  t.match(refused.stderr, /agents-at-once.*whole number from 1 to 256/s);
});

t.test('a service keeps to it', async (t) => {
  const data = await tempFolder(t);
  const unit = await run(t, [
    'desktop',
    'install',
    '--print',
    '--run-tokens',
    '5000',
    '--run-time',
    '2h',
    '--data',
    data,
  ]);
  t.match(unit.stdout, /--run-tokens.+5000.+--run-time.+2h/s);
});
