/** What is asked again within a call, how often, after how long; and that nothing outlives a call that nobody waits for. */
import t from 'tap';
import { AgentFailure } from '../../desktop-agent/engine/agent-provider.ts';
import { type Behaviour, chatAnswer, modelServer, provider } from './model-servers.ts';
import { failure, middle, request, testClock } from './support.ts';

const ANSWER = chatAnswer('at last');

function refusal(status: number, headers: Record<string, string> = {}, message = 'not now'): Behaviour {
  return { status, headers, body: { error: { message } } };
}

/** The pauses of a call that is let through them, on a clock that the test moves. Timer 1 is the call's deadline. */
async function pausesOf(t: Parameters<typeof modelServer>[0], ...behaviours: Behaviour[]) {
  const server = await modelServer(t, ...behaviours);
  const clock = testClock();
  const asked = provider(server.url, { ports: { clock, random: middle } }).ask(request());
  const end = asked.then(
    ({ text }) => text,
    (error: Error) => error.message,
  );
  for (let number = 2; ; number += 1) {
    const timer = await Promise.race([clock.timer(number), end]);
    if (typeof timer === 'string') break;
    timer.fire();
  }
  return {
    end: await end,
    pauses: clock.timers.slice(1).map(({ delayMs }) => delayMs),
    calls: server.asked.length,
    clock,
  };
}

t.test('too many requests: the service is asked again after as long as it says, and a little', async (t) => {
  const seconds = await pausesOf(t, refusal(429, { 'retry-after': '7' }), ANSWER);
  t.match(seconds, { end: 'at last', pauses: [7_250], calls: 2 });
  const ms = await pausesOf(t, refusal(429, { 'retry-after-ms': '300', 'retry-after': '7' }), ANSWER);
  t.match(ms, { end: 'at last', pauses: [550], calls: 2 });
  const date = new Date(testClock().now() + 9_000).toUTCString();
  t.match(await pausesOf(t, refusal(429, { 'retry-after': date }), ANSWER), { end: 'at last', pauses: [9_250] });
});

t.test('a service that is in trouble is asked three times, and its last word is told', async (t) => {
  for (const status of [500, 503, 529, 408]) {
    const tried = await pausesOf(t, refusal(status), refusal(status), refusal(status, {}, 'still loading'));
    t.same(tried.pauses, [1_500, 6_000], `after ${status}`);
    t.equal(tried.calls, 3);
    t.match(tried.end, new RegExp(`^agent "local" got HTTP ${status} from http://.*/v1, 3 times: still loading$`));
  }
  t.match(await pausesOf(t, 'cut', refusal(502), ANSWER), { end: 'at last', calls: 3 });
});

t.test('a pause that is longer than a minute is not waited for', async (t) => {
  const tried = await pausesOf(t, refusal(429, { 'retry-after': '3600' }));
  t.match(tried, { pauses: [], calls: 1 });
  t.match(tried.end, /is asked too often at .* \(HTTP 429\)\. It says to try again in 3600 s: not now$/);
});

t.test('what does not pass by itself is asked once', async (t) => {
  for (const behaviour of [refusal(400), refusal(401), refusal(403), refusal(404), refusal(413)]) {
    t.match(await pausesOf(t, behaviour), { pauses: [], calls: 1 });
  }
  const quota = { status: 429, body: { error: { message: 'You exceeded your quota', code: 'insufficient_quota' } } };
  const tried = await pausesOf(t, quota);
  t.match(tried, { pauses: [], calls: 1 });
  t.match(tried.end, /has no credit left at .* \(HTTP 429\): You exceeded your quota$/);
});

t.test('a call that is taken back closes its connection at once', async (t) => {
  const server = await modelServer(t, 'silent');
  const abort = new AbortController();
  const asked = failure(provider(server.url).ask(request({ signal: abort.signal })));
  const call = await server.call(1);
  abort.abort(new Error('the run has ended'));
  t.equal((await asked).message, 'the run has ended');
  await call.gone;
  t.equal(server.asked.length, 1, 'and is not made again');
});

t.test('a call that is taken back in a pause ends at once, and its timers too', async (t) => {
  const server = await modelServer(t, refusal(503), ANSWER);
  const clock = testClock();
  const abort = new AbortController();
  const asked = failure(
    provider(server.url, { ports: { clock, random: middle } }).ask(request({ signal: abort.signal })),
  );
  await clock.timer(2);
  abort.abort(new Error('the run has ended'));
  t.equal((await asked).message, 'the run has ended');
  t.same(
    clock.timers.map(({ isCancelled }) => isCancelled),
    [true, true],
  );
  t.equal(server.asked.length, 1);
});

t.test('nothing is asked for a signal that is aborted already', async (t) => {
  const server = await modelServer(t, ANSWER);
  const signal = AbortSignal.abort(new Error('over'));
  t.equal((await failure(provider(server.url).ask(request({ signal })))).message, 'over');
  t.equal(server.asked.length, 0);
});

t.test('a call with all its tries and pauses has one time limit', async (t) => {
  const silent = await modelServer(t, 'silent');
  const clock = testClock();
  const options = { ports: { clock, random: middle }, timeoutMs: 90_000 };
  const asked = failure(provider(silent.url, options).ask(request()));
  const call = await silent.call(1);
  const deadline = await clock.timer(1);
  t.equal(deadline.delayMs, 90_000);
  deadline.fire();
  const late = await asked;
  t.match(late, new AgentFailure('agent "local" gave no answer within 90000 ms', { tokens: 0 }));
  await call.gone;

  const busy = await modelServer(t, refusal(503), ANSWER);
  const second = testClock();
  const inPause = failure(provider(busy.url, { ...options, ports: { clock: second, random: middle } }).ask(request()));
  await second.timer(2);
  (await second.timer(1)).fire();
  t.match((await inPause).message, /gave no answer within 90000 ms/);
  t.equal(busy.asked.length, 1);
});
