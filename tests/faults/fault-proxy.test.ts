/** The fault proxy itself: each fault does what its name says, or the tests that use it would show nothing. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { WebSocket, WebSocketServer } from 'ws';
import { type Faults, startFaultProxy } from './fault-proxy.ts';

/** Answers `/MS` after so many milliseconds in two parts, and echoes WebSocket messages. */
async function target(t: Test) {
  const server = createServer((request, response) => {
    // The only thing that would differ between two answers.
    response.sendDate = false;
    const timer = setTimeout(
      () => {
        response.write('first ');
        setTimeout(() => response.end(`second ${request.headers.upgrade ?? 'no upgrade'}`), 50);
      },
      Number(request.url?.slice(1)),
    );
    response.on('close', () => clearTimeout(timer));
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(String(data))));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

async function proxied(t: Test, faults: Faults) {
  const proxy = await startFaultProxy({ target: await target(t), faults });
  t.teardown(() => proxy.close());
  return proxy;
}

/** What a raw client sees: the bytes, how it ended, and when. */
async function ask(port: number, path = '/0', waitMs = 1_500) {
  const socket = connect({ port, host: '127.0.0.1' });
  const from = performance.now();
  let text = '';
  let end = 'open';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('end', () => {
    end = 'end';
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    end = error.code ?? 'error';
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  const timer = setTimeout(() => socket.destroy(), waitMs);
  await new Promise((done) => socket.once('close', done));
  clearTimeout(timer);
  return { text, end, ms: performance.now() - from };
}

async function upgrade(url: string) {
  const socket = new WebSocket(url.replace('http', 'ws'));
  socket.on('error', () => {});
  const outcome = await new Promise<string>((done) => {
    socket.once('open', () => done('open'));
    socket.once('error', (error) => done(error.message));
  });
  return { socket, outcome };
}

t.test('without faults everything passes, upgrades too', async (t) => {
  const proxy = await proxied(t, {});
  t.match(await ask(proxy.port), { text: /^HTTP\/1\.1 200 OK[\s\S]*first [\s\S]*second no upgrade/, end: 'end' });
  const { socket, outcome } = await upgrade(proxy.url);
  t.equal(outcome, 'open');
  socket.send('hello');
  t.equal(String((await once(socket, 'message'))[0]), 'hello');
  socket.terminate();
  await new Promise((done) => socket.once('close', done));
  t.equal(proxy.made, 2);
});

t.test('a delay holds up each direction', async (t) => {
  const { port } = await proxied(t, { delayMs: 100 });
  const { text, ms } = await ask(port);
  t.match(text, /second/);
  t.ok(ms >= 245, `${ms} ms: a trip each way, and 50 ms between the parts`);
});

t.test('a cut at a byte passes exactly the bytes before it', async (t) => {
  const whole = (await ask((await proxied(t, {})).port)).text;
  for (const byte of [0, 1, 20, whole.length - 1]) {
    const { port } = await proxied(t, { cutAt: { way: 'down', byte }, cutBy: 'end' });
    t.match(await ask(port), { text: whole.slice(0, byte), end: 'end' }, `at ${byte}`);
  }
  const up = await proxied(t, { cutAt: { way: 'up', byte: 10 } });
  t.match(await ask(up.port), { text: '', end: 'ECONNRESET' });
});

t.test('a cut in a message waits for the message with the text, and is met once', async (t) => {
  const proxy = await proxied(t, { cutMessage: { way: 'down', containing: 'second', byte: 15 }, cutBy: 'end' });
  t.equal((await ask(proxy.port)).text, 'HTTP/1.1 200 OK');
  t.equal(proxy.messagesCut, 1);
  t.match((await ask(proxy.port)).text, /second/);
});

t.test('an answer that takes too long is cut by a reset, an end, an HTML page or silence', async (t) => {
  for (const [cutBy, seen] of [
    ['reset', { text: '', end: 'ECONNRESET' }],
    ['end', { text: '', end: 'end' }],
    ['html-504', { text: /^HTTP\/1\.1 504 [\s\S]*<html>/, end: 'end' }],
    ['silence', { text: '', end: 'open' }],
  ] as const) {
    const { port } = await proxied(t, { answerMs: 200, cutBy });
    const answer = await ask(port, '/1000', 700);
    t.match(answer, seen, cutBy);
    t.ok(answer.ms > 190, `${cutBy} after ${answer.ms} ms`);
    t.match((await ask(port, '/50')).text, /second/, 'a quick answer passes');
  }
});

t.test('an idle connection is cut, one with traffic is not', async (t) => {
  const { port, url } = await proxied(t, { idleMs: 200 });
  t.equal((await ask(port, '/400')).end, 'ECONNRESET');
  const { socket } = await upgrade(url);
  for (let beat = 0; beat < 5; beat++) {
    await new Promise((done) => setTimeout(done, 100));
    socket.send('beat');
    t.equal(String((await once(socket, 'message'))[0]), 'beat');
  }
  await new Promise((done) => socket.once('close', done));
});

t.test('idle connections are closed at random, but never below a request', async (t) => {
  const proxy = await proxied(t, { idleCloseMaxMs: 100 });
  t.match((await ask(proxy.port, '/300')).text, /second/);
  const { socket } = await upgrade(proxy.url);
  await new Promise((done) => socket.once('close', done));
  // The near end is closed; the far one follows.
  while (proxy.open > 0) await new Promise((done) => setTimeout(done, 10));
});

t.test('a black hole opened in the middle sends neither bytes nor an end', async (t) => {
  const proxy = await proxied(t, {});
  const answer = ask(proxy.port, '/200', 600);
  setTimeout(() => {
    proxy.faults = { blackHole: true };
  }, 100);
  t.match(await answer, { text: '', end: 'open' });
});

t.test('a buffered answer comes in one piece when it is complete', async (t) => {
  const { port } = await proxied(t, { bufferAnswers: true });
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write('GET /0 HTTP/1.1\r\nHost: a\r\n\r\n');
  const [first] = await once(socket, 'data');
  t.match(String(first), /first [\s\S]*second/);
  socket.destroy();
});

t.test('stripped upgrades reach the target as plain requests', async (t) => {
  const { url } = await proxied(t, { stripUpgrade: true });
  t.match((await upgrade(url)).outcome, /Unexpected server response: 200/);
});

t.test('swallowed frames: the upgrade works, and then nothing does', async (t) => {
  const { url } = await proxied(t, { swallowFrames: true });
  const { socket, outcome } = await upgrade(url);
  t.equal(outcome, 'open');
  let heard = 0;
  socket.on('message', () => heard++);
  socket.send('hello');
  await new Promise((done) => setTimeout(done, 200));
  t.equal(heard, 0);
  socket.terminate();
});

t.test('refused connections are reset', async (t) => {
  const { port } = await proxied(t, { refuse: true });
  t.match(await ask(port), { text: '', end: 'ECONNRESET' });
});
