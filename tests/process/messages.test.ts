/** What a person and a script are told when something is in the way: a clear line, and an exit code for each cause. */
import { spawn } from 'node:child_process';
import { copyFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { localClient } from '../../protocol/host/local-calls.ts';
import type { RelayLocalRouter } from '../../server/local-api.ts';
import {
  desktopCall,
  graphSource,
  makeToken,
  PROJECT,
  plainSync,
  sharedSession,
  startDesktop,
  startRelay,
  startWorld,
  writeGraph,
} from './relay-world.ts';
import { COMMAND, expectProcesses, type Finished, launch, run, tempFolder } from './support.ts';

expectProcesses(t);

const SESSION = 'gs_0123456789abcdef0123456789abcdef';

/** Exactly this code, one clear line, and no stack. */
function checkEnd(t: Test, ended: Finished, expected: { code: number; says: RegExp }): void {
  t.equal(ended.code, expected.code, `exit code of: ${ended.stderr}`);
  t.match(ended.stderr, expected.says);
  t.notMatch(ended.stderr, /^\s+at /m, 'no stack');
}

t.test('a busy port is named, also when runs of an earlier time are queued', async (t) => {
  const world = await startWorld(t);
  await desktopCall(
    { url: world.url, token: world.desktopToken },
    'sync',
    plainSync({ projects: sharedSession(SESSION) }),
  );
  // Its start-by timer would keep a process alive that has given up.
  await world.agent.start(SESSION);
  await world.process.end();
  const other = createServer();
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
  t.teardown(() => other.close());
  const { port } = other.address() as { port: number };
  const ended = await run(t, ['server', '--port', String(port), '--data', world.data]);
  checkEnd(t, ended, { code: 12, says: new RegExp(`Port ${port} on 127.0.0.1 is taken .*--port`) });
  const relay = await startRelay(t, world.data);
  t.ok(relay.url, 'the lock was given back');
});

t.test('a second relay or desktop on the same data folder is refused, and the first one goes on', async (t) => {
  const world = await startWorld(t);
  const says = /is in use by the process with the id \d+\. Stop that process or choose another folder/;
  const server = await run(t, ['server', '--port', '0', '--data', world.data]);
  checkEnd(t, server, { code: 10, says });
  t.equal((await fetch(new URL('/readyz', world.url))).status, 200);

  const desktop = await startDesktop(t, { data: world.data, url: world.url, token: world.desktopToken });
  await desktop.line('relay.connected');
  const args = ['desktop', '--relay', world.url, '--data', world.data];
  const second = await run(t, args, { env: { GRAPH_RELAY_TOKEN: world.desktopToken } });
  checkEnd(t, second, { code: 10, says });
  t.same(await desktop.end(), { code: 0, signal: null });
});

for (const part of ['server', 'desktop'] as const) {
  t.test(
    `a ${part} whose state file is damaged says so and changes nothing; a good copy beside it helps`,
    async (t) => {
      const data = await tempFolder(t);
      const state = join(data, part, 'state.json');
      const start = () =>
        part === 'server'
          ? launch(t, ['server', '--port', '0', '--data', data])
          : launch(t, ['desktop', '--relay', 'http://127.0.0.1:9', '--data', data], {
              env: { GRAPH_RELAY_TOKEN: 'x' },
            });
      // Two folds: after the second one there is a last good copy.
      await changeOffline(t, data, { part, name: 'first' });
      await changeOffline(t, data, { part, name: 'second' });
      const lastGood = join(data, part, 'state.last-good.json');
      await stat(lastGood);
      const spare = join(data, 'spare');
      await copyFile(lastGood, spare);

      const { size } = await stat(state);
      for (const path of [state, lastGood]) await writeFile(path, Buffer.alloc(size));
      const refused = start();
      t.equal((await refused.ended).code, 11, refused.stderr);
      t.match(refused.stderr, /state\.json holds only zero bytes\. .*Restore the folder from a backup/);
      t.notMatch(refused.stderr, /^\s+at /m, 'no stack');
      t.ok((await readFile(state)).equals(Buffer.alloc(size)), 'the file is as it was');

      await copyFile(spare, lastGood);
      const restored = start();
      await restored.ready;
      const line = await restored.line('state.restored');
      t.match(line, { level: 'warn', from: 'state.last-good.json', fault: 'holds only zero bytes' });
      await restored.end();
      t.same(await namesIn(t, data, part), ['first', 'second'], 'nothing is lost');
    },
  );
}

interface Change {
  readonly part: 'server' | 'desktop';
  readonly name: string;
}

/** Makes a token, or a Graph session, and closes the store. */
async function changeOffline(t: Test, data: string, { part, name }: Change): Promise<void> {
  if (part === 'desktop') await writeGraph(data, `${name}.js`, graphSource(name, 'return 1;'));
  const args =
    part === 'server'
      ? ['token', 'create', '--agent', name, '--project', PROJECT]
      : ['desktop', 'share', name, '--project', PROJECT];
  const { code, stderr } = await run(t, [...args, '--data', data]);
  t.equal(code, 0, stderr);
}

async function namesIn(t: Test, data: string, part: Change['part']): Promise<string[]> {
  const args = part === 'server' ? ['token', 'list'] : ['desktop', 'sessions'];
  const { stdout } = await run(t, [...args, '--json', '--data', data]);
  const rows = JSON.parse(stdout) as { name: string; projects: string[] }[];
  return rows.filter(({ projects }) => projects.includes(PROJECT)).map(({ name }) => name);
}

t.test('a desktop without a token is told how to get one', async (t) => {
  const data = await tempFolder(t);
  const ended = await run(t, ['desktop', '--data', data]);
  checkEnd(t, ended, { code: 21, says: /has no token\. .*token create --desktop NAME.*GRAPH_RELAY_TOKEN/ });
});

t.test('a desktop with a wrong token, or an agent’s, ends at its first request and says why', async (t) => {
  const world = await startWorld(t);
  for (const [token, code] of [
    ['grd_wrong', 21],
    [world.agent.token, 22],
  ] as const) {
    const args = ['desktop', '--relay', world.url, '--data', world.data];
    const ended = await run(t, args, { env: { GRAPH_RELAY_TOKEN: token } });
    t.equal(ended.code, code, ended.stderr);
    t.match(ended.stdout, code === 21 ? /This desktop is not known here/ : /This is an agent's token/);
    t.notMatch(ended.stdout + ended.stderr, token, 'without showing it');
  }
});

t.test('a desktop whose token is revoked while it runs ends at once, and does not loop', async (t) => {
  const world = await startWorld(t);
  await writeGraph(world.data, 'a.js', graphSource('a', 'return 1;'));
  const desktop = await startDesktop(t, { data: world.data, url: world.url, token: world.desktopToken });
  await desktop.line('relay.connected');
  await localClient<RelayLocalRouter>(join(world.data, 'server')).revokeToken.mutate('laptop');
  t.equal((await desktop.ended).code, 21);
  const refusals = desktop.log.filter((line) => line.event === 'relay.refused');
  t.equal(refusals.length, 1, 'one request was refused');
  t.match(refusals[0], { level: 'error', code: 'unauthorized', reason: /missing, wrong or revoked/ });
  t.same(await makeToken(world.data, 'desktop', 'laptop').then((token) => typeof token), 'string', 'the name is free');
});

t.test('a desktop whose place a second one takes with the same token ends, and the second one goes on', async (t) => {
  const world = await startWorld(t);
  const options = { data: world.data, url: world.url, token: world.desktopToken };
  const first = await startDesktop(t, options);
  await first.line('relay.connected');
  const second = await startDesktop(t, { ...options, data: await tempFolder(t) });
  await second.line('relay.connected');
  t.equal((await first.ended).code, 20);
  t.match(await first.line('relay.refused'), { code: 'session-replaced', reason: /newer instance/ });
  t.same(await second.end(), { code: 0, signal: null });
});

t.test('what the command line does not understand ends with the code for that', async (t) => {
  const data = await tempFolder(t);
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['--nope'], /unknown option '--nope'/],
    [['nope'], /unknown command 'nope'/],
    [['server', '--nope'], /unknown option '--nope'/],
    [['server', '--port', '99999'], /must be from 0 to 65535/],
    [['start', '--port', 'x'], /must be from 0 to 65535/],
    [['desktop', 'share', '--project'], /argument missing/],
    [['desktop', '--mode', 'fast'], /Allowed choices are auto, long-poll, websocket, plain/],
    [['desktop', '--relay', 'relay example'], /"relay example" is not the address of a relay/],
    [['desktop', '--relay', 'localhost:7420'], /"localhost:7420" is not the address of a relay.*http:/],
    [['desktop', '--relay', 'ftp://relay.example'], /is not the address of a relay/],
    [['desktop', 'unshare', '--project', 'p'], /Name a Graph, or pass --all/],
    [['token', 'create'], /either --agent NAME or --desktop NAME/],
    [['token', 'revoke'], /missing required argument/],
  ];
  const environment = { GRAPH_RELAY_TOKEN: 'grd_x', GRAPH_RELAY_DATA: data };
  const ends = await Promise.all(cases.map(([args]) => run(t, args, { env: environment })));
  for (const [index, [args, says]] of cases.entries()) {
    t.comment(args.join(' '));
    checkEnd(t, ends[index] as Finished, { code: 2, says });
  }
});

t.test('a start that fails at its very end ends all the same', async (t) => {
  const data = await tempFolder(t);
  // The place of the local socket is taken by something that is not ours to remove.
  for (const part of ['server', 'desktop']) await mkdir(join(data, part, 'control.sock', 'x'), { recursive: true });
  const server = await run(t, ['server', '--port', '0', '--data', data]);
  t.equal(server.code, 1, server.stderr);
  const desktop = await run(t, ['desktop', '--relay', 'http://127.0.0.1:9', '--data', data], {
    env: { GRAPH_RELAY_TOKEN: 'grd_x' },
  });
  t.equal(desktop.code, 1, desktop.stderr);
});

t.test('a reader that has seen enough is no error', async (t) => {
  const child = spawn(process.execPath, [COMMAND, 'bench', '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const code = await new Promise((ended) => child.once('close', ended));
  t.equal(code, 0);
  t.equal(said, '');
});
