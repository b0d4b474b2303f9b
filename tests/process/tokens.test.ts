/** Tokens on the command line, and that no log ever shows one. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { systemIds } from '../../protocol/host/system-ports.ts';
import {
  desktopCall,
  graphSource,
  McpCaller,
  plainSync,
  shareOnline,
  startDesktop,
  startWorld,
  writeGraph,
} from './relay-world.ts';
import { expectProcesses, type Finished, launch, run, tempFolder, until } from './support.ts';

expectProcesses(t);

const TOKEN = /^gr[ad]_[0-9a-f]{64}$/;

async function token(t: Test, data: string, ...args: string[]): Promise<Finished> {
  const ended = await run(t, ['token', ...args, '--data', data]);
  t.equal(ended.code, 0, `token ${args.join(' ')}: ${ended.stderr}`);
  return ended;
}

/** Makes, lists and revokes tokens; `works` tells whether the relay takes the token of a desktop. */
async function checkCommands(t: Test, data: string, works: (token: string) => Promise<boolean>): Promise<void> {
  const made = await token(t, data, 'create', '--desktop', 'pc');
  const secret = made.stdout.trim();
  t.match(secret, TOKEN, 'the token alone goes to standard output');
  t.match(made.stderr, /GRAPH_RELAY_TOKEN.*It is not shown again/);
  const json = JSON.parse((await token(t, data, 'create', '--agent', 'bot', '--project', 'a', 'b', '--json')).stdout);
  t.match(json, { token: TOKEN, kind: 'agent', name: 'bot', projects: ['a', 'b'] });
  t.equal('hash' in json, false);
  const list = JSON.parse((await token(t, data, 'list', '--json')).stdout) as { name: string }[];
  t.ok(list.some(({ name }) => name === 'pc') && list.some(({ name }) => name === 'bot'));
  const shown = (await token(t, data, 'list')).stdout;
  t.match(shown, /desktop {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}pc\n/);
  t.notMatch(shown + JSON.stringify(list), /gr[ad]_/, 'no secret in a list');

  t.equal(await works(secret), true);
  const rotated = await token(t, data, 'rotate', 'pc');
  const next = rotated.stdout.trim();
  t.match(next, TOKEN);
  t.match(rotated.stderr, /GRAPH_RELAY_TOKEN.*The desktop is the same.* its token before this one is refused/s);
  t.same([await works(secret), await works(next)], [false, true]);
  const { token: text, ...row } = JSON.parse((await token(t, data, 'rotate', json.tokenId, '--json')).stdout);
  t.match(text, TOKEN);
  t.match(row, { tokenId: json.tokenId, subjectId: json.subjectId, name: 'bot', projects: ['a', 'b'] });
  t.match(await run(t, ['token', 'rotate', 'nobody', '--data', data]), {
    code: 1,
    stderr: /no token with id or name "nobody"/,
  });

  t.match((await token(t, data, 'revoke', 'pc')).stderr, /desktop "pc" is revoked.*token rotate [0-9a-f-]{36}` gives/s);
  t.equal(await works(next), false);
  t.notMatch((await token(t, data, 'list')).stdout, / pc\n/);
  const back = (await token(t, data, 'rotate', 'pc')).stdout.trim();
  t.equal(await works(back), true, 'the same desktop is back');
  await token(t, data, 'revoke', 'pc');
  await token(t, data, 'revoke', json.tokenId);
}

t.test('token create, list, rotate and revoke work on the running relay, at once', async (t) => {
  const { data, url } = await startWorld(t);
  await checkCommands(t, data, async (secret) => {
    const { status } = await desktopCall({ url, token: secret }, 'sync', plainSync());
    return status === 200;
  });
});

t.test('token create, list, rotate and revoke work on the data folder of a relay that does not run', async (t) => {
  const data = await tempFolder(t);
  await checkCommands(t, data, async (secret) => {
    const relay = launch(t, ['server', '--port', '0', '--data', data]);
    const { url = '' } = await relay.ready;
    const { status } = await desktopCall({ url, token: secret }, 'sync', plainSync());
    await relay.end();
    return status === 200;
  });
});

t.test('--help of each command shows its use and ends with 0', async (t) => {
  const commands = [
    [],
    ['start'],
    ['server'],
    ['token'],
    ['token', 'create'],
    ['token', 'list'],
    ['token', 'rotate'],
    ['token', 'revoke'],
    ['owner'],
    ['owner', 'link'],
    ['desktop'],
    ['desktop', 'login'],
    ...['graphs', 'projects', 'share', 'unshare', 'status'].map((each) => ['desktop', each]),
  ];
  const ends = await Promise.all(commands.map((command) => run(t, [...command, '--help'])));
  for (const [index, command] of commands.entries()) {
    const name = ['graph-relay', ...command].join(' ');
    t.match(ends[index], { code: 0, stderr: '' }, name);
    // Some have a second name.
    t.match(ends[index]?.stdout, new RegExp(`^Usage: ${name}(\\|\\w+)? \\[options\\]`), name);
  }
  t.equal((await run(t, ['--version'])).code, 0);
});

t.test('no log of a whole working day at level debug shows a token, an argument or a result', async (t) => {
  const data = await tempFolder(t);
  const debug = ['--log-level', 'debug', '--data', data];
  const relay = launch(t, ['server', '--port', '0', ...debug]);
  const { url = '' } = await relay.ready;
  const agentToken = (await token(t, data, 'create', '--agent', 'bot', '--project', 'home')).stdout.trim();
  const desktopToken = (await token(t, data, 'create', '--desktop', 'pc')).stdout.trim();
  await writeGraph(data, 'tell.js', graphSource('tell', "log(args.note); return { said: 'result-' + args.note };"));
  const desktop = await startDesktop(t, { data, url, token: desktopToken, args: ['--log-level', 'debug'] });
  const session = await shareOnline(data, 'tell.js');
  const agent = new McpCaller(url, agentToken);
  await agent.onlySession();
  const { command_id } = await agent.start(session, { note: 'swordfish' });
  t.match((await agent.end(command_id)).result, { said: 'result-swordfish' });
  await t.rejects(new McpCaller(url, 'gra_wrong').sessions());
  await t.rejects(agent.call('run_graph_session', { graph_session_id: 'swordfish', arguments: 'swordfish' }));
  await desktopCall({ url, token: desktopToken }, 'sync', { instance_id: 'swordfish' });
  await token(t, data, 'revoke', 'pc');
  await until('the end of the desktop', async () => desktop.isOver || (await shareAnew(data)));
  await relay.end();

  for (const { log, stdout, stderr } of [relay, desktop]) {
    t.equal(stdout.trimEnd().split('\n').length, log.length, 'each line is JSON');
    for (const line of log) t.match(line, { level: String, time: /^\d{4}-.*Z$/, component: String, event: String });
    for (const secret of [agentToken, desktopToken, 'swordfish']) t.notOk((stdout + stderr).includes(secret), 'hidden');
  }
  t.ok(
    relay.log.some((line) => line.command_id === command_id && line.event === 'command.ended'),
    'ids are there',
  );
});

/** Makes the desktop ask again. */
async function shareAnew(data: string): Promise<false> {
  await writeGraph(data, `more-${systemIds.uuid()}.js`, graphSource('more', 'return 1;'));
  for (const file of await readdir(join(data, 'graphs'))) await shareOnline(data, file).catch(() => {});
  return false;
}

t.test('the tokens that start keeps are in files that only their owner can read, and in no log', async (t) => {
  const data = await tempFolder(t);
  t.equal((await run(t, ['start', '--once', '--json', '--port', '0', '--data', data])).code, 0);
  const logs = await Promise.all(
    ['server.log', 'desktop.log'].map((name) => readFile(join(data, 'logs', name), 'utf8')),
  );
  t.match(logs[0], /"event":"server.listening"/);
  t.match(logs[1], /"event":"relay.connected"/);
  for (const name of ['client-token', 'desktop/token']) {
    const path = join(data, name);
    const secret = (await readFile(path, 'utf8')).trim();
    t.match(secret, TOKEN);
    if (process.platform !== 'win32') t.equal((await stat(path)).mode & 0o077, 0, `${name} is private`);
    t.notOk(logs.join().includes(secret));
    for (const part of ['server', 'desktop']) {
      const found = await readdir(join(data, part), { recursive: true, withFileTypes: true });
      const files = found.filter((each) => each.isFile() && each.name !== 'token');
      t.ok(files.length > 0);
      for (const file of files) {
        const text = await readFile(join(file.parentPath, file.name), 'utf8');
        t.notOk(text.includes(secret), `${part}/${file.name}`);
      }
    }
  }
});
