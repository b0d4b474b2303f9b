/** A desktop whose token is replaced while it has a result to tell: the same desktop goes on with the new one, and loses nothing. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { agentProgram } from './agent-program.ts';
import { graphSource, shareOnline, startDesktop, startWorld, writeGraph } from './relay-world.ts';
import { expectProcesses, launch, run, until } from './support.ts';

expectProcesses(t);

for (const how of ['was replaced', 'was revoked, and replaced then'] as const) {
  t.test(`a result whose desktop's token ${how} before it was posted arrives with the new one (C38)`, async (t) => {
    const world = await startWorld(t);
    const { data, url } = world;
    await writeGraph(data, 'slow.js', graphSource('slow', "return await agent('wait');"));
    const gate = join(data, 'gate');
    const agent = await agentProgram(t, data, `while [ ! -e ${gate} ]; do sleep 0.05; done\necho late answer`);
    const args = ['--agent-command', agent.command];
    const desktop = await startDesktop(t, { data, url, token: world.desktopToken, args });
    const session = await shareOnline(data, 'slow.js');
    await world.agent.onlySession();
    const { command_id } = await world.agent.start(session);
    await until('the agent', async () => (await agent.pids()).length === 1);

    await world.process.end('SIGKILL');
    await writeFile(gate, '');
    t.match(await desktop.line('outbox.delayed'), { command_id, code: 'unreachable' });
    if (how !== 'was replaced') t.equal((await run(t, ['token', 'revoke', 'laptop', '--data', data])).code, 0);
    const rotated = await run(t, ['token', 'rotate', 'laptop', '--data', data]);
    t.equal(rotated.code, 0, rotated.stderr);
    const relay = launch(t, ['server', '--port', new URL(url).port, '--data', data]);
    await relay.ready;
    t.match(await desktop.ended, { code: 21 }, 'the old token is of no use any more, and the desktop says so');
    t.match(await desktop.line('relay.refused'), { level: 'error', code: 'unauthorized' });
    t.equal((await world.agent.get(command_id)).status, 'running', 'nobody has the result yet');

    await startDesktop(t, { data, url, token: rotated.stdout.trim(), args });
    t.match(await world.agent.end(command_id), { status: 'completed', result: 'late answer' });
    t.equal((await agent.pids()).length, 1, 'it ran once');
    t.equal(await world.agent.onlySession(), session, 'with the sessions that it had');
  });
}
