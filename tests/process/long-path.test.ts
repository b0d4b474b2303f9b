/** Data folders whose path is too long for a Unix socket: the commands find each other all the same, and nobody in between. */
import { chown, mkdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { localSocketPath } from '../../protocol/host/local-socket.ts';
import { makeToken, startDesktop, startRelay } from './relay-world.ts';
import { expectProcesses, run, tempFolder } from './support.ts';

expectProcesses(t);

const NO_LOCAL_SOCKET = 13;
const skip = process.platform === 'win32' && 'pipes have names';

/** Longer than any system takes for a socket. */
async function longFolder(t: Test): Promise<string> {
  const folder = join(await tempFolder(t), 'd'.repeat(100), 'e'.repeat(100));
  for (const part of ['server', 'desktop']) {
    t.teardown(() => rm(dirname(localSocketPath(join(folder, part))), { recursive: true, force: true }));
  }
  await mkdir(folder, { recursive: true });
  return folder;
}

t.test(
  'relay, desktop and command line work on such a folder, whatever each takes for temporary',
  { skip },
  async (t) => {
    const data = await longFolder(t);
    const env = { TMPDIR: data };
    const relay = await startRelay(t, data, { env });
    const socket = localSocketPath(join(data, 'server'));
    t.ok(socket.length < 100);
    t.equal((await stat(socket)).mode & 0o777, 0o600);
    t.equal((await stat(dirname(socket))).mode & 0o777, 0o700);
    const token = await makeToken(data, 'desktop', 'laptop');
    t.match(await run(t, ['token', 'list', '--data', data]), { code: 0, stdout: /laptop/ }, 'asked from another shell');
    t.match(await run(t, ['server', 'status', '--data', data]), { stdout: /^listening on / });
    const desktop = await startDesktop(t, { data, url: relay.url, token, env });
    await desktop.line('relay.connected');
    t.match(await run(t, ['desktop', 'status', '--data', data]), { stdout: /^connected / });
    await desktop.end();
    await relay.process.end();
    t.match(await run(t, ['server', 'status', '--data', data]), { code: 0, stdout: 'not running\n' });
    t.match(await run(t, ['token', 'list', '--data', data]), { code: 0, stdout: /laptop/ }, 'and without the relay');
  },
);

t.test('what is in that place and not ours is not used, and it is said what helps', { skip }, async (t) => {
  const data = await longFolder(t);
  const elsewhere = await tempFolder(t);
  const commands = [
    ['server', '--port', '0'],
    ['desktop', '--relay', 'http://127.0.0.1:9'],
  ];
  for (const [part = '', ...args] of commands) {
    const place = dirname(localSocketPath(join(data, part)));
    const start = () => run(t, [part, ...args, '--data', data], { env: { GRAPH_RELAY_TOKEN: 'grd_x' } });
    await symlink(elsewhere, place);
    const refused = await start();
    t.equal(refused.code, NO_LOCAL_SOCKET, refused.stderr);
    t.match(
      refused.stderr,
      /too long for a socket.*it is not a folder of yours.*shorter path \(--data or GRAPH_RELAY_DATA\)/,
    );
    t.notMatch(refused.stderr, /^\s+at /m, 'no stack');
    await rm(place);
    await writeFile(place, '');
    t.match(await start(), { code: NO_LOCAL_SOCKET, stderr: /it cannot be made \(EEXIST\)/ });
    await rm(place);
  }
});

t.test('a command does not ask whoever listens in a place that is not ours', { skip }, async (t) => {
  const data = await longFolder(t);
  const elsewhere = await tempFolder(t);
  await symlink(elsewhere, dirname(localSocketPath(join(data, 'server'))));
  const asked = await run(t, ['token', 'create', '--desktop', 'pc', '--data', data]);
  t.equal(asked.code, NO_LOCAL_SOCKET, asked.stderr);
  t.match(asked.stderr, /it is not a folder of yours/);
  t.equal(asked.stdout, '');
});

const isRoot = process.getuid?.() === 0;

t.test(
  "another user's folder in that place is not used",
  { skip: !isRoot && 'only root can give a folder away' },
  async (t) => {
    const data = await longFolder(t);
    const place = dirname(localSocketPath(join(data, 'server')));
    await mkdir(place, { mode: 0o777 });
    await chown(place, 1, 1);
    for (const args of [
      ['server', '--port', '0'],
      ['token', 'list'],
    ]) {
      t.match(await run(t, [...args, '--data', data]), {
        code: NO_LOCAL_SOCKET,
        stderr: /it is not a folder of yours/,
      });
    }
  },
);
