/** The desktop, killed: no completion is lost, and nothing runs twice. */
import t, { type Test } from 'tap';
import { RESTARTED_DURING_RUN } from '../../protocol/texts.ts';
import { agentProgram } from './agent-program.ts';
import { graphSource, PROJECT, shareOffline, startDesktop, startWorld, writeGraph } from './relay-world.ts';
import { type ScriptedRelay, scriptedRelay } from './scripted-relay.ts';
import { expectProcesses, LIGHT, type Running, tempFolder, until } from './support.ts';

expectProcesses(t);

const KILLS = 25;

t.test(
  `after kill -9 with a completion on its way, ${KILLS} times, each arrives as it was, after one run`,
  async (t) => {
    const data = await tempFolder(t);
    await writeGraph(
      data,
      'tell.js',
      graphSource('tell', "return { said: await agent('say'), n: args.n, text: 'ß \\ud83d\\ude00' };"),
    );
    const agent = await agentProgram(t, data, 'echo answer');
    const sessionId = await shareOffline(t, data, 'tell.js');
    const relay = await scriptedRelay(t, { sessionId, slug: 'tell', project: PROJECT });
    const start = () =>
      startDesktop(t, {
        data,
        url: relay.url,
        token: 'grd_test',
        args: ['--agent-command', agent.command],
        env: LIGHT,
      });
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const commandId = relay.offer({ n: kill });
      relay.refuseCompletions = kill % 2 === 0 ? 'with-503' : 'silently';
      const desktop = await start();
      const first = await until(`a completion of run ${kill}`, () => relay.completionsOf(commandId)[0]);
      await desktop.end('SIGKILL');
      t.match(first, { status: 'completed', result: { said: 'answer', n: kill, text: 'ß 😀' } });
    }
    t.equal((await agent.pids()).length, KILLS, 'each command ran once');
    relay.refuseCompletions = 'no';
    const desktop = await start();
    await until('all completions', () => relay.stored.size === KILLS);
    await checkDelivered(t, relay, desktop);
    t.equal((await agent.pids()).length, KILLS, 'nothing ran again');
  },
);

/** What was stored is, word for word, what was posted first; then nothing is left to deliver. */
async function checkDelivered(t: Test, relay: ScriptedRelay, desktop: Running): Promise<void> {
  for (const [commandId, stored] of relay.stored) {
    const { capacity: _told, ...first } = relay.completionsOf(commandId)[0] ?? {};
    t.same(stored, first);
    const executions = new Set(relay.completionsOf(commandId).map((each) => each.execution_id));
    t.equal(executions.size, 1, 'one execution');
  }
  await until('an empty outbox', () => relay.lastSync?.holding.length === 0 || relay.wake());
  t.same(await desktop.end(), { code: 0, signal: null });
}

t.test('after kill -9 in the middle of a run, it ends as failed and never runs again', async (t) => {
  const world = await startWorld(t);
  await writeGraph(world.data, 'slow.js', graphSource('slow', "return await agent('wait');"));
  const agent = await agentProgram(t, world.data, 'exec sleep 600');
  const sessionId = await shareOffline(t, world.data, 'slow.js');
  const options = {
    data: world.data,
    url: world.url,
    token: world.desktopToken,
    args: ['--agent-command', agent.command],
  };
  const first = await startDesktop(t, options);
  await until('the session', async () => (await world.agent.sessions()).sessions.length > 0);
  const { command_id } = await world.agent.start(sessionId);
  await world.agent.running(command_id);
  await until('the agent', async () => (await agent.pids()).length === 1);
  await first.end('SIGKILL');

  const second = await startDesktop(t, options);
  const view = await world.agent.end(command_id);
  t.match(view, { status: 'failed', error: RESTARTED_DURING_RUN });
  await second.line('relay.connected');
  // A command after it runs: had the first one been taken again, it would have come before.
  const later = await world.agent.start(sessionId);
  await world.agent.running(later.command_id);
  await until('its agent', async () => (await agent.pids()).length === 2);
  await world.agent.cancel(later.command_id);
  t.equal((await world.agent.end(later.command_id)).status, 'cancelled');
  t.equal((await world.agent.get(command_id)).status, 'failed');
  t.equal((await agent.pids()).length, 2, 'two commands, two runs');
});
