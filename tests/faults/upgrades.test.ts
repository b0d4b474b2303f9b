/** Upgrades from clients that break off, lie or send nonsense: the relay lives, and no socket stays behind (C98). */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import t from 'tap';
import { resetSocket } from './reset-socket.ts';
import { later, startRelay, waitFor } from './rig.ts';
import { wireDesktop } from './wire.ts';

const ROUNDS = 100;

function upgradeRequest(path: string, token: string | null): string {
  return [
    `GET ${path} HTTP/1.1`,
    'Host: relay',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...(token === null ? [] : [`Authorization: Bearer ${token}`]),
    '',
    '',
  ].join('\r\n');
}

function dial(port: number): Socket {
  return connect({ port, host: '127.0.0.1' }).on('error', () => {});
}

async function answerTo(port: number, text: string): Promise<string> {
  const socket = dial(port);
  socket.write(text);
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk;
  });
  await once(socket, 'close');
  return answer;
}

t.test('a client that resets before, during or after the upgrade, 100 times, harms nobody (C98)', async (t) => {
  const relay = await startRelay(t);
  const token = await relay.desktopToken();
  const requests = [
    upgradeRequest('/trpc', token),
    upgradeRequest('/trpc', null),
    upgradeRequest('/somewhere', token),
    upgradeRequest('//', token),
  ];
  for (let round = 0; round < ROUNDS; round++) {
    const text = requests[round % requests.length]!;
    const socket = dial(relay.port);
    await once(socket, 'connect');
    const part = round % 3 === 0 ? text.slice(0, round) : text;
    socket.write(part);
    if (round % 3 === 2) await Promise.race([once(socket, 'data'), later(100)]);
    resetSocket(socket);
  }
  t.equal((await fetch(`${relay.url}/healthz`)).status, 200);
  await waitFor('the end of all sockets', 5_000, async () => (relay.openSockets() <= 1 ? true : null));
  t.pass('no socket is left');
});

t.test('refusals are complete HTTP answers, also for an address that is none (C98)', async (t) => {
  const relay = await startRelay(t);
  for (const [path, token, status] of [
    ['/trpc', null, 401],
    ['/trpc', 'grd_wrong', 401],
    ['/elsewhere', null, 400],
    ['//', null, 400],
    ['http://[', null, 400],
  ] as const) {
    const answer = await answerTo(relay.port, upgradeRequest(path, token));
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), path);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    t.equal(Number(/content-length: (\d+)/i.exec(head)?.[1]), Buffer.byteLength(body));
    t.match(JSON.parse(body), { error: { message: String } });
  }
  t.equal((await fetch(`${relay.url}/healthz`)).status, 200);
});

/** Frames, as bytes: what they are is in the names. */
const NONSENSE: readonly (readonly [name: string, bytes: number[]])[] = [
  ['a frame that is not masked', [0x81, 0x02, 0x68, 0x69]],
  ['a reserved opcode', [0x83, 0x80, 0, 0, 0, 0]],
  ['a reserved bit', [0xf1, 0x80, 0, 0, 0, 0]],
  ['text that is no UTF-8', [0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe]],
  ['a message that claims 2^62 bytes', [0x81, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],
  ['a continuation of nothing', [0x80, 0x80, 0, 0, 0, 0]],
  ['a close code that is none', [0x88, 0x82, 0, 0, 0, 0, 0, 1]],
  ['an empty message', [0x81, 0x80, 0, 0, 0, 0]],
  ['JSON that is no call', [0x81, 0x82, 0, 0, 0, 0, 0x5b, 0x5d]],
];

t.test('frames that are nonsense end at most their own connection', async (t) => {
  const relay = await startRelay(t);
  const token = await relay.desktopToken();
  for (const [name, bytes] of NONSENSE) {
    const socket = dial(relay.port);
    socket.write(upgradeRequest('/trpc', token));
    const [head] = await once(socket, 'data');
    t.match(String(head), /^HTTP\/1\.1 101 /, name);
    socket.write(Buffer.from(bytes));
    await Promise.race([once(socket, 'close'), once(socket, 'data'), later(200)]);
    resetSocket(socket);
  }
  const desktop = wireDesktop(relay.url, token);
  t.match(await desktop.sync(), { epoch: 1 });
});

t.test('a token that is revoked opens no further WebSocket', async (t) => {
  const relay = await startRelay(t);
  const token = await relay.desktopToken();
  await relay.relay.access.revokeToken('desktop 1');
  t.match(await answerTo(relay.port, upgradeRequest('/trpc', token)), /^HTTP\/1\.1 401 /);
});
