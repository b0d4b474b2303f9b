/** Tool servers over HTTP: how they are reached, and what is made of those that break off, forget or never end. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler } from '@modelcontextprotocol/server';
import t, { type Test } from 'tap';
import { expectProcesses, until } from '../process/support.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { modernServer } from './modern-server.ts';
import { createBench } from './support.ts';

expectProcesses(t);

const TOKEN = 'http-secret-0123';
const TOOLS = ['ok', 'cut', 'endless', 'hang', 'said'];

type Message = { id?: number; method?: string; params?: { name?: string } };

interface Site {
  readonly url: string;
  /** Sessions that it knows. */
  readonly sessions: Set<string>;
  /** Methods that came, in order. */
  readonly heard: string[];
  readonly close: () => Promise<void>;
}

/** A server of the older protocol that keeps sessions, wants a token, and has odd tools. */
async function oddSite(t: Test, port = 0): Promise<Site> {
  const sessions = new Set<string>();
  const heard: string[] = [];
  const server = createServer(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return void response.writeHead(401).end('who are you?');
    const session = String(request.headers['mcp-session-id'] ?? '');
    if (request.method === 'DELETE') {
      heard.push('DELETE');
      sessions.delete(session);
      return void response.writeHead(200).end();
    }
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = JSON.parse(await bodyOf(request)) as Message;
    heard.push(message.method ?? 'an answer');
    if (message.method === 'initialize') return greet(message, response);
    if (!sessions.has(session)) return void response.writeHead(404).end('no such session');
    answer(message, response);
  });

  function greet({ id }: Message, response: ServerResponse): void {
    const session = `s${sessions.size + 1}`;
    sessions.add(session);
    response.setHeader('mcp-session-id', session);
    const capabilities = { tools: {} };
    reply(response, {
      id,
      result: { protocolVersion: '2025-06-18', capabilities, serverInfo: { name: 'odd', version: '1' } },
    });
  }

  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  t.teardown(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, sessions, heard, close };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function reply(response: ServerResponse, message: object): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
}

function answer({ id, method, params }: Message, response: ServerResponse): void {
  if (method === 'tools/list') {
    reply(response, { id, result: { tools: TOOLS.map((name) => ({ name, inputSchema: { type: 'object' } })) } });
  } else if (method === 'tools/call') {
    call(params?.name ?? '', id, response);
  } else {
    response.writeHead(202).end();
  }
}

function call(name: string, id: number | undefined, response: ServerResponse): void {
  const result = { content: [{ type: 'text', text: 'fine' }] };
  if (name === 'ok') reply(response, { id, result });
  if (name === 'said') reply(response, { id, error: { code: -32_000, message: `your token is ${TOKEN}` } });
  if (name === 'cut') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': the answer is on its way\n\n', () => response.destroy());
  }
  if (name === 'endless') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const more = () => {
      while (!response.destroyed && response.write(`: ${'x'.repeat(60_000)}\n\n`));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  }
}

const config = ({ url }: Site) => ({ odd: { url, headers: { Authorization: `Bearer ${TOKEN}` } } });

t.test('a server over HTTP is called with its headers, keeps its session, and is told of the end', async (t) => {
  const site = await oddSite(t);
  const { call, tools, admin } = await createBench(t, { servers: config(site) });
  t.equal(await call('odd.ok'), 'fine');
  t.equal(await call('odd.ok'), 'fine');
  t.equal(site.heard.filter((method) => method === 'initialize').length, 1);
  t.match((await admin.list()).servers, [{ kind: 'http', place: new URL(site.url).origin, state: 'running' }]);
  await tools.close();
  t.equal(site.heard.at(-1), 'DELETE');
  t.equal(site.sessions.size, 0);
});

t.test('a server that was started anew has forgotten its sessions: the call is made in a new one', async (t) => {
  const site = await oddSite(t);
  const { call, lines } = await createBench(t, { servers: config(site) });
  await call('odd.ok');
  site.sessions.clear();
  t.equal(await call('odd.ok'), 'fine');
  t.equal(site.heard.filter((method) => method === 'initialize').length, 2);
  t.notOk(lines.some(({ event }) => event === 'tool-server.failed'));
});

t.test('an answer that breaks off fails its call at once, and the next call works', async (t) => {
  const site = await oddSite(t);
  const { call } = await createBench(t, { servers: config(site) });
  await t.rejects(call('odd.cut'), { message: 'the tool server "odd" broke off the connection during the call' });
  t.equal(await call('odd.ok'), 'fine');
});

t.test('an answer without end is left', async (t) => {
  const site = await oddSite(t);
  const { call } = await createBench(t, { servers: config(site), limits: { messageBytes: 2_000_000 } });
  await t.rejects(call('odd.endless'), {
    message: 'the tool server "odd" answered with more than 2000000 bytes during the call',
  });
  t.equal(await call('odd.ok'), 'fine');
});

t.test('a server that is away is named with its reason, and called when it is back', async (t) => {
  const site = await oddSite(t);
  const { call } = await createBench(t, { servers: config(site) });
  t.equal(await call('odd.ok'), 'fine');
  await site.close();
  await t.rejects(call('odd.ok'), /^the tool server "odd" could not be asked: connect ECONNREFUSED/);
  await oddSite(t, Number(new URL(site.url).port));
  t.equal(await call('odd.ok'), 'fine');
});

t.test('a hung call is given up, and the server is told', async (t) => {
  const site = await oddSite(t);
  const clock = new SkippingClock();
  const { call } = await createBench(t, { servers: config(site), clock });
  const hanging = t.rejects(call('odd.hang'), {
    message: 'the tool server "odd" gave no answer to hang within 120 s',
  });
  await until('the call', () => site.heard.includes('tools/call'));
  clock.skip(120_000);
  await hanging;
  await until('the word of the cancel', () => site.heard.includes('notifications/cancelled'));
  t.equal(await call('odd.ok'), 'fine');
});

t.test('no token is in an error or a log line, whoever says it', async (t) => {
  const site = await oddSite(t);
  const wrong = 'wrong-secret-0123';
  const servers = { ...config(site), wrong: { url: site.url, headers: { Authorization: `Bearer ${wrong}` } } };
  const { call, lines } = await createBench(t, { servers });
  await t.rejects(call('odd.said'), { message: /refused the call: .*your token is \[redacted\]$/ });
  await t.rejects(call('wrong.ok'), { message: /^the tool server "wrong" did not start: .*401/ });
  t.notMatch(JSON.stringify(lines), new RegExp(`${TOKEN}|${wrong}`));
});

const modernProgram = fileURLToPath(new URL('./modern-server.ts', import.meta.url));

t.test(
  'servers of the newer protocol are served: over HTTP, and as programs that refuse the older greeting',
  async (t) => {
    const handler = createMcpHandler(modernServer, { legacy: 'reject' });
    const server = createServer(
      getRequestListener((request) => handler.fetch(request), { overrideGlobalObjects: false }),
    );
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    t.teardown(() => server.close());
    const servers = {
      http: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` },
      program: { command: process.execPath, args: [modernProgram] },
      both: { command: process.execPath, args: [modernProgram, 'both'] },
    };
    const { call, tools } = await createBench(t, { servers });
    for (const name of Object.keys(servers)) t.equal(await call(`${name}.add`, { a: 40, b: 2 }), '42', name);
    await t.rejects(call('http.add', { a: 'x' }), /a/);
    server.closeAllConnections();
    await tools.close();
  },
);

t.test('a tool that a server has got since can be called at once', async (t) => {
  const { call } = await createBench(t, {
    servers: { both: { command: process.execPath, args: [modernProgram, 'both'] } },
  });
  await t.rejects(call('both.grown'), { name: 'ToolRefused', message: /there is no tool both\.grown/ });
  await call('both.grow');
  t.equal(await call('both.grown'), 'new');
});
