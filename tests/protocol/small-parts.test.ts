/** Canonical JSON, backoff, and the two ways to wait. */
import t from 'tap';
import { seededRandom } from '../../bench/sim/seeded.ts';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { Backoff } from '../../protocol/backoff.ts';
import { canonicalJson } from '../../protocol/canonical.ts';
import { getOrMake } from '../../protocol/collections.ts';
import { BACKOFF_MAX_MS, BACKOFF_MIN_MS } from '../../protocol/limits.ts';
import { pause, Wakeable } from '../../protocol/waiting.ts';

const SAME: readonly (readonly [string, string])[] = [
  ['{"a":1,"b":2}', '{"b":2,"a":1}'],
  ['{"x":{"p":[1,{"q":2,"r":3}],"o":null}}', '{"x":{"o":null,"p":[1,{"r":3,"q":2}]}}'],
  ['[1.0, 100, 0, -0]', '[1, 1e2, 0.0, 0]'],
  ['{"a":"\\u0041"}', '{"a":"A"}'],
  ['{"__proto__":1,"a":2}', '{"a":2,"__proto__":1}'],
  ['{"10":1,"9":2,"b":3}', '{"b":3,"9":2,"10":1}'],
];

const DIFFERENT: readonly (readonly [string, string])[] = [
  ['[1,2]', '[2,1]'],
  ['{"a":1}', '{"a":"1"}'],
  ['{"a":null}', '{}'],
  ['[]', '{}'],
  ['""', 'null'],
  ['[[1],2]', '[1,[2]]'],
  ['{"a":{"b":1}}', '{"a.b":1}'],
  ['["a,b"]', '["a","b"]'],
  ['{"__proto__":1}', '{}'],
  ['"é"', '"e\\u0301"'],
  ['1', '1.0000000000000002'],
];

t.test('spellings of one JSON value have one canonical text (C131)', async (t) => {
  for (const [one, other] of SAME) t.equal(canonicalJson(JSON.parse(one)), canonicalJson(JSON.parse(other)), one);
});

t.test('different JSON values have different canonical texts (C131)', async (t) => {
  for (const [one, other] of DIFFERENT) t.not(canonicalJson(JSON.parse(one)), canonicalJson(JSON.parse(other)), one);
});

t.test('a member that is undefined counts as left out, as in JSON', async (t) => {
  t.equal(canonicalJson({ a: 1, b: undefined }), '{"a":1}');
  t.equal(canonicalJson([1, undefined]), '[1,null]');
  t.equal(canonicalJson(undefined), 'null');
});

t.test('canonical text is JSON that means the same', async (t) => {
  for (const text of [...SAME, ...DIFFERENT].flat())
    t.strictSame(JSON.parse(canonicalJson(JSON.parse(text))), unsigned(text));
});

/** -0 and 0 are one number to JSON's readers. */
function unsigned(text: string): unknown {
  return JSON.parse(text, (_key, value) => (Object.is(value, -0) ? 0 : value));
}

t.test('a backoff stays within a bound that doubles up to the longest pause', async (t) => {
  const longest = new Backoff({ next: () => 1 - Number.EPSILON });
  const pauses = Array.from({ length: 40 }, () => longest.next());
  const expected = pauses.map((_, attempt) => Math.min(BACKOFF_MAX_MS, BACKOFF_MIN_MS * 2 ** attempt));
  t.same(pauses, expected);
  const shortest = new Backoff({ next: () => 0 });
  t.same([shortest.next(), shortest.next()], [0, 0], 'full jitter begins at nothing');
});

t.test('a backoff is short again after something worked', async (t) => {
  const backoff = new Backoff({ next: () => 0.999_999 });
  for (let attempt = 0; attempt < 10; attempt++) backoff.next();
  backoff.reset();
  t.ok(backoff.next() <= BACKOFF_MIN_MS);
});

t.test('many callers that fail at once come back spread out (C17)', async (t) => {
  const random = seededRandom(7);
  const pauses = Array.from({ length: 400 }, () => {
    const backoff = new Backoff(random);
    for (let attempt = 0; attempt < 5; attempt++) backoff.next();
    return backoff.next();
  });
  const buckets = new Array<number>(10).fill(0);
  for (const ms of pauses) buckets[Math.min(9, Math.floor((ms / (BACKOFF_MIN_MS * 32)) * 10))]!++;
  t.ok(Math.max(...buckets) < 3 * 40, `no tenth of the time gets more than three times its share: ${buckets}`);
});

t.test('a pause ends when its time is over', async (t) => {
  const clock = new VirtualClock();
  const over = pause(clock, 500, new AbortController().signal);
  await clock.settle(over);
  t.equal(clock.monotonic(), 500);
});

t.test('a pause ends with its signal, at once when that was aborted before, and leaves no timer', async (t) => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const over = pause(clock, 500, abort.signal);
  abort.abort();
  await over;
  await pause(clock, 500, abort.signal);
  t.equal(clock.monotonic(), 0);
  await clock.advance(1_000);
  t.equal(clock.events, 0, 'no timer fired');
});

t.test('a wake ends the pause that is going on', async (t) => {
  const clock = new VirtualClock();
  const wakeable = new Wakeable(clock);
  clock.after(300, () => wakeable.wake());
  await clock.settle(wakeable.pause(10_000));
  t.equal(clock.monotonic(), 300);
  await clock.settle(wakeable.pause(700));
  t.equal(clock.monotonic(), 1_000, 'the wake was used up');
});

t.test('a wake that comes while nobody pauses is kept for the next pause, once', async (t) => {
  const clock = new VirtualClock();
  const wakeable = new Wakeable(clock);
  wakeable.wake();
  wakeable.wake();
  await wakeable.pause(10_000);
  t.equal(clock.monotonic(), 0);
  await clock.settle(wakeable.pause(10_000));
  t.equal(clock.monotonic(), 10_000);
});

t.test('a pause of nothing is over at once and uses up a wake', async (t) => {
  const clock = new VirtualClock();
  const wakeable = new Wakeable(clock);
  wakeable.wake();
  await wakeable.pause(0);
  await clock.settle(wakeable.pause(50));
  t.equal(clock.monotonic(), 50);
});

t.test('what a map does not have is made once', async (t) => {
  const map = new Map<string, string[]>();
  getOrMake(map, '__proto__', () => []).push('a');
  getOrMake(map, '__proto__', () => t.fail('made twice') as never).push('b');
  t.same([...map], [['__proto__', ['a', 'b']]]);
});
