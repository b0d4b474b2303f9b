/**
 * The relay and the desktop under Deno 2, with the permissions of deno-flags.ts and no other.
 *
 * Where Deno comes from, and what happens without it, is in ../support/deno-program.ts.
 */
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { connect } from '../auth/support.ts';
import { DENO, denoVersion, skipWithoutDeno } from '../support/deno-program.ts';
import { becomeOwner } from './browser.ts';
import { type DenoPlaces, denoDesktopFlags, denoServerFlags } from './deno-flags.ts';
import { graphSource, McpCaller, makeToken, shareOnline, startWorld, writeGraph } from './relay-world.ts';
import { COMMAND, expectProcesses, LIGHT, launch, type Running, run, tempFolder } from './support.ts';

expectProcesses(t);

const PROGRAM = dirname(COMMAND);
const skip = skipWithoutDeno;

t.test('Deno 2 is there', { skip }, async (t) => {
  t.match(denoVersion, /^deno 2\./, `DENO is "${DENO}"`);
});

/** A port that was free a moment ago: Deno's permission has to name it. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}

/** The parent's IPC channel is Node's own, so readiness is read from the log. */
async function startDeno(t: Test, args: readonly string[], how: { ready: string; token?: string }): Promise<Running> {
  const env = { ...LIGHT, DENO_NO_UPDATE_CHECK: '1', ...(how.token && { GRAPH_RELAY_TOKEN: how.token }) };
  const running = launch(t, args, { program: [DENO, 'run'], env });
  await running.line(how.ready);
  return running;
}

async function newPlaces(t: Test): Promise<DenoPlaces> {
  return { data: await tempFolder(t), address: `127.0.0.1:${await freePort()}`, program: PROGRAM };
}

function serverArgs(places: DenoPlaces): string[] {
  const port = new URL(`http://${places.address}`).port;
  return [...denoServerFlags(places), COMMAND, 'server', '--port', port, '--data', places.data];
}

function desktopArgs(places: DenoPlaces): string[] {
  const relay = `http://${places.address}`;
  return [...denoDesktopFlags(places), COMMAND, 'desktop', '--relay', relay, '--data', places.data];
}

t.test(
  'relay and desktop run a Graph under Deno with the narrowest permissions, and stop well',
  { skip },
  async (t) => {
    const places = await newPlaces(t);
    const { data } = places;
    const url = `http://${places.address}`;
    const relay = await startDeno(t, serverArgs(places), { ready: 'server.listening' });
    const token = await makeToken(data, 'desktop', 'laptop');
    const agent = new McpCaller(url, await makeToken(data, 'agent', 'tester'));
    await writeGraph(data, 'hi.js', graphSource('hi', "return { said: await agent('hi ' + args.name) };"));
    const desktop = await startDeno(t, desktopArgs(places), { ready: 'relay.connected', token });
    const session = await shareOnline(data, 'hi.js');
    t.equal(await agent.onlySession(), session);
    for (const name of ['Ada', 'Grace']) {
      const { command_id } = await agent.start(session, { name });
      const view = await agent.end(command_id);
      t.match(view, { status: 'completed', result: { said: new RegExp(`hi ${name}`) } }, view.error ?? '');
      t.equal(view.timing.transport, 'long-poll');
    }
    t.same(await desktop.end('SIGTERM'), { code: 0, signal: null });
    t.same(await relay.end('SIGTERM'), { code: 0, signal: null });
    for (const { stdout, stderr } of [relay, desktop]) t.notMatch(stdout + stderr, /NotCapable|PermissionDenied/);

    const again = await startDeno(t, serverArgs(places), { ready: 'server.listening' });
    t.equal((await agent.sessions()).sessions.length, 1, 'the state is there after a restart');
    t.same(await again.end('SIGTERM'), { code: 0, signal: null });
  },
);

t.test('each permission is needed: without any one of them, no start', { skip }, async (t) => {
  const places = await newPlaces(t);
  const flags = denoServerFlags(places);
  const rest = serverArgs(places).slice(flags.length);
  const env = { ...LIGHT, DENO_NO_UPDATE_CHECK: '1' };
  for (const left of flags.filter((flag) => flag !== '--no-prompt')) {
    const ended = await run(t, [...flags.filter((flag) => flag !== left), ...rest], { program: [DENO, 'run'], env });
    t.not(ended.code, 0, `without ${left}`);
    t.match(ended.stderr + ended.stdout, /NotCapable/);
  }
});

t.test('a Deno desktop and a Node relay understand each other', { skip }, async (t) => {
  const world = await startWorld(t);
  const places = { data: world.data, address: new URL(world.url).host, program: PROGRAM };
  await writeGraph(world.data, 'sum.js', graphSource('sum', 'return args.a + args.b;'));
  const desktop = await startDeno(t, desktopArgs(places), { ready: 'relay.connected', token: world.desktopToken });
  const session = await shareOnline(world.data, 'sum.js');
  await world.agent.onlySession();
  const { command_id } = await world.agent.start(session, { a: 40, b: 2 });
  t.equal((await world.agent.end(command_id)).result, 42);
  t.same(await desktop.end('SIGINT'), { code: 0, signal: null });
});

t.test('with all variables to be seen, logins work under Deno; without, tokens do', { skip }, async (t) => {
  const places = await newPlaces(t);
  const url = `http://${places.address}`;
  const closed = await startDeno(t, serverArgs(places), { ready: 'server.listening' });
  t.match(await closed.line('authorization.closed'), { reason: /--allow-env/ });
  t.equal((await fetch(`${url}/.well-known/oauth-authorization-server`)).status, 404);
  await closed.end('SIGTERM');
  const args = serverArgs(places).map((arg) => (arg.startsWith('--allow-env') ? '--allow-env' : arg));
  const relay = await startDeno(t, args, { ready: 'server.listening' });
  const browser = await becomeOwner(t, { process: relay, url });
  const { tokens } = await connect(browser.site, browser);
  t.same((await new McpCaller(url, tokens.access_token).sessions()).sessions, []);
});

t.test('a second relay under Deno on the same data folder is refused', { skip }, async (t) => {
  const places = await newPlaces(t);
  await startDeno(t, serverArgs(places), { ready: 'server.listening' });
  const other = { ...places, address: `127.0.0.1:${await freePort()}` };
  const second = launch(t, serverArgs(other), { program: [DENO, 'run'], env: LIGHT });
  await Promise.race([second.line('server.listening').catch(() => {}), second.ended]);
  t.match(second.stderr, /is in use by a process that answers on its socket/);
  t.ok(second.isOver, join(places.data, 'server'));
});
