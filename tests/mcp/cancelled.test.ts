/** Clients that lose interest in a wait, each in the way of its era, and who is not hit by their word. */
import { request as httpRequest } from 'node:http';
import t from 'tap';
import { listenHttp } from '../../server/http-server.ts';
import {
  type ApiCall,
  answerOf,
  COMMAND,
  createWorld,
  GOOD,
  postOf,
  READ_ONLY,
  type RpcMessage,
  toolCall,
  type World,
} from './fixtures.ts';

const WAIT = { command_id: COMMAND, wait_seconds: 50 };

/** Waits last until their signal is aborted. Resolves, one after another, with the signals of the calls that came. */
function waitingWorld(): World & { arrived(): Promise<AbortSignal> } {
  const world = createWorld();
  const waiting: AbortSignal[] = [];
  let news = Promise.withResolvers<void>();
  world.api.before = async ({ request }: ApiCall) => {
    const signal = request.signal as AbortSignal;
    waiting.push(signal);
    news.resolve();
    await aborted(signal);
  };
  let seen = 0;
  const arrived = async () => {
    while (waiting.length <= seen) {
      news = Promise.withResolvers<void>();
      await news.promise;
    }
    return waiting[seen++]!;
  };
  return { ...world, arrived };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

function wait(world: World, id: number | string = 7, token = GOOD): Promise<Response> {
  return world.endpoint.fetch(postOf({ ...toolCall('2025', 'get_graph_run', WAIT), id }, { token }));
}

function cancelled(requestId: unknown): RpcMessage {
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason: 'not wanted any more' } };
}

async function say(world: World, body: object, token: string | null = GOOD): Promise<number> {
  return (await world.endpoint.fetch(postOf(body, token === null ? {} : { token }))).status;
}

t.test('a client of 2025 that takes a wait back and keeps its connection ends it on the server', async (t) => {
  const world = waitingWorld();
  const response = wait(world);
  const signal = await world.arrived();
  t.equal(await say(world, cancelled(7)), 202);
  await aborted(signal);
  const { id, result } = await answerOf(await response);
  t.match({ id, result }, { id: 7, result: { structuredContent: { command_id: COMMAND } } }, 'its stream ends well');
});

t.test('a word in a batch counts, too', async (t) => {
  const world = waitingWorld();
  const response = wait(world, 'seven');
  const signal = await world.arrived();
  await say(world, [cancelled('six'), cancelled('seven')]);
  await aborted(signal);
  t.match(await answerOf(await response), { id: 'seven' });
});

t.test('a word that names no open call of this agent, or several, ends none', async (t) => {
  const world = waitingWorld();
  const responses = [wait(world, 7), wait(world, 8), wait(world, 8), wait(world, 9, READ_ONLY)];
  const signals = [await world.arrived(), await world.arrived(), await world.arrived(), await world.arrived()];
  for (const id of ['7', 8, 9, null, { a: 1 }]) await say(world, cancelled(id));
  for (const token of [null, 'gra_unknown']) await say(world, cancelled(7), token);
  for (const body of [
    { ...cancelled(7), method: 'cancelled' },
    { ...cancelled(7), params: null },
  ]) {
    await say(world, body);
  }
  t.strictSame(
    signals.map((signal) => signal.aborted),
    [false, false, false, false],
  );
  await say(world, cancelled(7));
  await aborted(signals[0]!);
  t.strictSame(
    signals.map((signal) => signal.aborted),
    [true, false, false, false],
    'the one that it names',
  );
  // The others end with their requests.
  for (const response of responses.slice(1)) await (await response).body!.cancel();
  await Promise.all(signals.map(aborted));
});

t.test('the same request id can be used again after it was taken back', async (t) => {
  const world = waitingWorld();
  for (let round = 0; round < 3; round++) {
    const response = wait(world);
    const signal = await world.arrived();
    await say(world, cancelled(7));
    await aborted(signal);
    t.match(await answerOf(await response), { id: 7 });
  }
  t.equal(await say(world, cancelled(7)), 202, 'and a word that comes too late is none');
});

t.test('a client that closes its connection in a wait ends it on the server, over a real socket', async (t) => {
  for (const era of ['2025', '2026'] as const) {
    const world = waitingWorld();
    const { server, url } = await listenHttp(world.endpoint.fetch, { host: '127.0.0.1', port: 0 });
    t.teardown(() => server.close());
    const message = postOf(toolCall(era, 'get_graph_run', WAIT), { token: GOOD });
    const headers = Object.fromEntries(message.headers);
    const request = httpRequest(url, { method: 'POST', headers }).on('error', () => {});
    request.end(await message.text());
    const signal = await world.arrived();
    t.equal(signal.aborted, false);
    request.destroy();
    await aborted(signal);
    t.pass(`the wait ended, in ${era}`);
  }
});
