/** The relay as a process: its time-outs, its health, its log, and callers that break off. */
import { closeSync, openSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { listenHttp } from '../../server/http-server.ts';
import { desktopCall, plainSync, startRelay, startWorld } from './relay-world.ts';
import { expectProcesses, type LogLine, launch, tempFolder, until } from './support.ts';

expectProcesses(t);

/** Idle time after which common proxies drop a connection. */
const PROXY_IDLE_MS = 60_000;

t.test('a kept connection outlives the idle time of a proxy, and its header time outlives it (C11)', async (t) => {
  const { server } = await listenHttp(async () => new Response('ok'), { host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close());
  t.ok(server.keepAliveTimeout > PROXY_IDLE_MS, `keepAliveTimeout ${server.keepAliveTimeout}`);
  t.ok(server.headersTimeout > server.keepAliveTimeout, `headersTimeout ${server.headersTimeout}`);
  t.ok(server.requestTimeout >= server.headersTimeout, `requestTimeout ${server.requestTimeout}`);
  t.equal(server.timeout, 0, 'an answer may take as long as its hold');
});

t.test('healthz and readyz answer, and other paths are told where to go', async (t) => {
  const { url } = await startRelay(t, await tempFolder(t));
  const ask = async (path: string) => {
    const response = await fetch(new URL(path, url));
    return { status: response.status, body: await response.json() };
  };
  t.same(await ask('/healthz'), { status: 200, body: { status: 'ok' } });
  t.same(await ask('/readyz'), { status: 200, body: { status: 'ready' } });
  t.match(await ask('/nothing'), { status: 404, body: { error: { code: 'not-found' } } });
});

t.test(
  'a hundred callers that send half a request and reset leave the relay well, without sockets (C98)',
  async (t) => {
    const { process: relay, url, desktopToken } = await startWorld(t);
    const { hostname, port } = new URL(url);
    const halves = [
      '',
      'GET /hea',
      'POST /mcp HTTP/1.1\r\nhost: x\r\n',
      'POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{"jsonrpc"',
      `POST /trpc/relay.sync HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${desktopToken}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"ins`,
      heldSync(desktopToken),
    ];
    await desktopCall({ url, token: desktopToken }, 'sync', plainSync());
    const before = await until('the open sockets', () => socketsOf(relay.pid));
    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const socket = connect(Number(port), hostname);
        socket.on('error', () => {});
        await new Promise((done) => socket.once('connect', done));
        await new Promise((done) => socket.write(halves[index % halves.length] || '\r\n', done));
        socket.resetAndDestroy();
      }),
    );
    await until('the sockets to be gone', async () => ((await socketsOf(relay.pid)) ?? 0) <= before);
    t.equal((await fetch(new URL('/readyz', url))).status, 200);
    t.equal((await desktopCall({ url, token: desktopToken }, 'sync', plainSync())).status, 200);
    t.same(faultsIn(relay.log), [], 'nobody is to blame for a caller that goes');
    t.same(await relay.end(), { code: 0, signal: null });
  },
);

/** A whole request, which is then held. */
function heldSync(token: string): string {
  const body = JSON.stringify(plainSync({ hold_ms: 20_000 }));
  const head = `authorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
  return `POST /trpc/relay.sync HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n${body}`;
}

/** Open sockets of the process; 1 where the system does not tell, so that the count proves nothing there. */
async function socketsOf(pid: number): Promise<number> {
  const names = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const targets = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
  return Math.max(1, targets.filter((target) => target.startsWith('socket:')).length);
}

function faultsIn(log: readonly LogLine[]): LogLine[] {
  return log.filter(({ level }) => level === 'error');
}

for (const how of ['uncaught', 'unhandled']) {
  t.test(`the last line of an ${how} error is in the log, in a pipe and in a file (C106)`, async (t) => {
    const program = [process.execPath, fileURLToPath(new URL('fault.ts', import.meta.url))];
    const piped = launch(t, [how], { program });
    t.equal((await piped.ended).code, 1);
    const path = join(await tempFolder(t), 'log');
    const file = openSync(path, 'w');
    const filed = launch(t, [how], { program, stdout: file });
    t.equal((await filed.ended).code, 1);
    closeSync(file);
    for (const text of [piped.stdout, await readFile(path, 'utf8')]) {
      const lines = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as LogLine);
      t.same(
        lines
          .filter(({ event }) => event === 'before')
          .map(({ n }) => n)
          .sort(byNumber),
        range(50),
        'all before it',
      );
      t.match(lines.at(-1), { level: 'error', event: `process.${how}`, err: { message: 'the last words' } });
    }
  });
}

function byNumber(a: unknown, b: unknown): number {
  return Number(a) - Number(b);
}

function range(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}

const noFullDisk = process.platform === 'linux' ? false : 'a disk that is always full is /dev/full';

t.test(
  'a full log disk is said once, and the relay goes on and ends as asked (C107)',
  { skip: noFullDisk },
  async (t) => {
    const full = openSync('/dev/full', 'w');
    t.teardown(() => closeSync(full));
    const { process: relay, url } = await startRelay(t, await tempFolder(t), { stdout: full });
    await until('the remark', () => relay.stderr.includes('ENOSPC'));
    for (let n = 0; n < 50; n += 1) t.equal((await fetch(new URL('/readyz', url))).status, 200);
    t.same(await relay.end(), { code: 0, signal: null });
    t.equal(relay.stderr.match(/The log cannot be written/g)?.length, 1, relay.stderr);
  },
);
