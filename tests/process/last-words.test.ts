/** The real processes, when an error comes that nobody expected: the last line is in the log, and nothing is lost by it. */
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { graphSource, McpCaller, shareOffline, startRelay, startWorld, writeGraph } from './relay-world.ts';
import { expectProcesses, type LogLine, launch, type Running, within } from './support.ts';

expectProcesses(t);

/** Throws when the process gets SIGUSR2. */
const FAULTY = { NODE_OPTIONS: `--import=${fileURLToPath(new URL('throw-on-signal.ts', import.meta.url))}` };

/** Ends the process with an uncaught error, and checks what its log says last. */
async function fail(running: Running, t: { equal(a: unknown, b: unknown): void; match(a: unknown, b: unknown): void }) {
  process.kill(running.pid, 'SIGUSR2');
  t.equal((await within(running.ended, 'the end')).code, 1);
  const last = JSON.parse(running.stdout.trimEnd().split('\n').at(-1) ?? '') as LogLine;
  t.match(last, { level: 'error', event: 'process.uncaught', err: { message: 'the last words' } });
}

t.test(
  'an uncaught error of desktop or relay is its last line, and what was told is there afterwards (C106)',
  async (t) => {
    const world = await startWorld(t);
    const { data, desktopToken } = world;
    await writeGraph(data, 'one.js', graphSource('one', 'return 1;'));
    const session = await shareOffline(t, data, 'one.js');
    await world.process.end();
    const faulty = await startRelay(t, data, { env: FAULTY });
    const args = ['desktop', '--relay', faulty.url, '--data', data];
    const desktop = launch(t, args, { env: { GRAPH_RELAY_TOKEN: desktopToken, ...FAULTY } });
    await desktop.line('relay.connected');
    const agent = new McpCaller(faulty.url, world.agent.token);
    await agent.onlySession();
    t.match(await agent.end((await agent.start(session)).command_id), { status: 'completed' });
    await fail(desktop, t);
    const { command_id } = await agent.start(session);
    await fail(faulty.process, t);
    const again = await startRelay(t, data);
    t.match(await new McpCaller(again.url, world.agent.token).get(command_id), { command_id, status: 'queued' });
  },
);
