/**
 * What every StateStore promises, as tests. Each store brings its own way to be killed, slowed down and refused.
 */
import t from 'tap';
import { RelayError } from '../../protocol/errors.ts';
import { items, put, settle, type TestStore, watch } from './support.ts';

/** One store under test. */
export interface Subject {
  readonly store: TestStore;
  /** Ends the store and opens it again from what is durable: after a kill, or after a proper close. */
  reopen(how: 'kill' | 'close'): Promise<Subject>;
  /** From now on, writes wait until `finishWrite` lets the one that is on its way pass. */
  holdWrites(): void;
  /** Lets the write that is on its way finish. */
  finishWrite(): Promise<void>;
  /** Writes fail with this reason, until null. */
  refuseWrites(reason: string | null): void;
  /** Lets the time pass after which the store tries again by itself. */
  passRetryPause(): Promise<void>;
}

export type MakeSubject = () => Promise<Subject>;

const UNUSUAL_IDS = ['__proto__', 'constructor', 'toString', '10', '9', '', 'ü \u2028 "quoted"\n'];

export function testStoreContract(name: string, make: MakeSubject): void {
  t.test(`${name}: rows`, (t) => testRows(t, make));
  t.test(`${name}: durability`, (t) => testDurability(t, make));
  t.test(`${name}: waiting`, (t) => testWaiting(t, make));
  t.test(`${name}: refusal`, (t) => testRefusal(t, make));
  t.test(`${name}: frozen texts`, (t) => testFrozen(t, make));
  t.test(`${name}: closing`, (t) => testClosing(t, make));
}

type Test = typeof t;

async function testRows(t: Pick<Test, 'test'>, make: MakeSubject): Promise<void> {
  await t.test('a commit is seen at once, before it is durable', async (t) => {
    const { store } = await make();
    const durable = store.commit([put('a', 1), put('b', 2)]);
    t.strictSame(items(store), [
      ['a', 1],
      ['b', 2],
    ]);
    await durable;
  });

  await t.test('a batch is applied in its order, and null removes a row', async (t) => {
    const { store } = await make();
    await store.commit([put('a', 1), put('a', 2), { table: 'items', id: 'b', row: null }]);
    await store.commit([{ table: 'items', id: 'a', row: null }, put('c', 3)]);
    t.strictSame(items(store), [['c', 3]]);
  });

  await t.test('a table that was not declared is refused before anything changes', async (t) => {
    const { store } = await make();
    const wrong = { table: 'wrong', id: 'a', row: {} } as never;
    t.throws(() => store.commit([put('a', 1), wrong]), TypeError);
    t.throws(() => store.rows('wrong' as never), TypeError);
    t.strictSame(items(store), []);
  });

  await t.test('a row that JSON cannot hold is refused before anything changes', async (t) => {
    const { store } = await make();
    t.throws(() => store.commit([put('a', 1), put('b', 1n)]), TypeError);
    t.strictSame(items(store), []);
    await store.synced();
  });

  await t.test('any text is an id, also after a restart, and rows keep their order', async (t) => {
    const subject = await make();
    for (const id of UNUSUAL_IDS) await subject.store.commit([put(id, id)]);
    const expected = UNUSUAL_IDS.map((id) => [id, id]);
    t.strictSame(items(subject.store), expected);
    const killed = await subject.reopen('kill');
    t.strictSame(items(killed.store), expected);
    const closed = await killed.reopen('close');
    t.strictSame(items(closed.store), expected);
    t.equal(closed.store.rows('items').get('hasOwnProperty'), undefined);
  });
}

async function testDurability(t: Pick<Test, 'test'>, make: MakeSubject): Promise<void> {
  await t.test('what was acknowledged is there after a kill in the same turn (C91)', async (t) => {
    let subject = await make();
    for (let round = 0; round < 5; round += 1) {
      await subject.store.commit([
        put(`a${round}`, round),
        { table: 'others', id: `b${round}`, row: { value: round } },
      ]);
      subject = await subject.reopen('kill');
      t.equal(subject.store.rows('items').size, round + 1);
      t.equal(subject.store.rows('others').size, round + 1);
    }
  });

  await t.test('what was not acknowledged is there as a whole or not at all, in order', async (t) => {
    const subject = await make();
    await subject.store.commit([put('first', 1)]);
    subject.holdWrites();
    void subject.store.commit([put('second', 1), put('second too', 1)]);
    await settle();
    void subject.store.commit([put('third', 1)]);
    const { store } = await subject.reopen('kill');
    const ids = [...store.rows('items').keys()];
    const complete = ['first', 'second', 'second too', 'third'];
    t.strictSame(ids, complete.slice(0, ids.length));
    t.not(ids.length, 2, 'half a batch');
  });

  await t.test('a hundred commits of one turn are all there', async (t) => {
    const subject = await make();
    await Promise.all(Array.from({ length: 100 }, (_, index) => subject.store.commit([put(String(index), index)])));
    const { store } = await subject.reopen('kill');
    t.equal(store.rows('items').size, 100);
  });

  await t.test('an empty batch is durable with what came before it', async (t) => {
    const subject = await make();
    void subject.store.commit([put('a', 1)]);
    await subject.store.commit([]);
    const { store } = await subject.reopen('kill');
    t.strictSame(items(store), [['a', 1]]);
  });
}

async function testWaiting(t: Pick<Test, 'test'>, make: MakeSubject): Promise<void> {
  await t.test('synced resolves in the same turn when nothing is pending', async (t) => {
    const { store } = await make();
    await store.commit([put('a', 1)]);
    const synced = watch(store.synced());
    await null;
    await null;
    t.equal(synced.settled, 'resolved');
  });

  await t.test('a caller waits for the write with its batch and for nothing behind it (C89)', async (t) => {
    const subject = await make();
    subject.holdWrites();
    const first = watch(subject.store.commit([put('a', 1)]));
    await settle();
    const second = watch(subject.store.commit([put('b', 1)]));
    const third = watch(subject.store.commit([put('c', 1)]));
    const all = watch(subject.store.synced());
    await settle();
    t.equal(first.settled, 'pending', 'not before its write is durable');
    await subject.finishWrite();
    t.equal(first.settled, 'resolved');
    t.equal(second.settled, 'pending');
    await subject.finishWrite();
    t.strictSame([second.settled, third.settled, all.settled], ['resolved', 'resolved', 'resolved']);
  });

  await t.test('synced waits for a write that is on its way', async (t) => {
    const subject = await make();
    subject.holdWrites();
    void subject.store.commit([put('a', 1)]);
    await settle();
    const synced = watch(subject.store.synced());
    await settle();
    t.equal(synced.settled, 'pending');
    await subject.finishWrite();
    t.equal(synced.settled, 'resolved');
  });
}

async function testRefusal(t: Pick<Test, 'test'>, make: MakeSubject): Promise<void> {
  await t.test('a refused commit rejects, stays in place, and is written by a later one, in order', async (t) => {
    const subject = await make();
    const { store } = subject;
    await store.commit([put('a', 1)]);
    subject.refuseWrites('ENOSPC');
    await t.rejects(store.commit([put('b', 1)]), { code: 'store-unavailable', message: /ENOSPC/ });
    await t.rejects(store.commit([put('b', 2)]), RelayError);
    t.strictSame(items(store), [
      ['a', 1],
      ['b', 2],
    ]);
    t.equal(store.status().writable, false);
    t.match(store.status().reason, /ENOSPC/);
    subject.refuseWrites(null);
    await store.commit([put('c', 1)]);
    t.strictSame(store.status(), { writable: true, reason: null });
    const again = await subject.reopen('kill');
    t.strictSame(items(again.store), [
      ['a', 1],
      ['b', 2],
      ['c', 1],
    ]);
  });

  await t.test('a refused commit is tried again without another one', async (t) => {
    const subject = await make();
    subject.refuseWrites('EIO');
    await t.rejects(subject.store.commit([put('a', 1)]));
    await subject.passRetryPause();
    t.equal(subject.store.status().writable, false);
    subject.refuseWrites(null);
    await subject.passRetryPause();
    t.strictSame(subject.store.status(), { writable: true, reason: null });
    const { store } = await subject.reopen('kill');
    t.strictSame(items(store), [['a', 1]]);
  });

  await t.test('an error reaches the callers of the write that failed and nobody else (C89)', async (t) => {
    const subject = await make();
    subject.holdWrites();
    const before = watch(subject.store.commit([put('a', 1)]));
    await settle();
    await subject.finishWrite();
    const failing = watch(subject.store.commit([put('b', 1)]));
    await settle();
    const after = watch(subject.store.commit([put('c', 1)]));
    subject.refuseWrites('EIO');
    await subject.finishWrite();
    subject.refuseWrites(null);
    await subject.finishWrite();
    t.strictSame([before.settled, failing.settled, after.settled], ['resolved', 'rejected', 'resolved']);
    const { store } = await subject.reopen('kill');
    t.strictSame(items(store), [
      ['a', 1],
      ['b', 1],
      ['c', 1],
    ]);
  });

  await t.test('synced tries a refused batch at once and tells how that went', async (t) => {
    const subject = await make();
    subject.refuseWrites('EIO');
    await t.rejects(subject.store.commit([put('a', 1)]));
    await t.rejects(subject.store.synced(), { code: 'store-unavailable' });
    subject.refuseWrites(null);
    await subject.store.synced();
    t.equal(subject.store.status().writable, true);
  });
}

async function testFrozen(t: Pick<Test, 'test'>, make: MakeSubject): Promise<void> {
  await t.test('a frozen text is read before and after a kill and a close', async (t) => {
    let subject = await make();
    const texts = { long: 'x'.repeat(50_000), empty: '', 'half a pair': 'a\ud800b', lines: 'a\nb\u2028' };
    for (const [frozen, text] of Object.entries(texts)) await subject.store.commit([{ frozen, text }]);
    for (const how of ['kill', 'close', 'close', 'kill'] as const) {
      for (const [id, text] of Object.entries(texts)) t.equal(await subject.store.readFrozen(id), text);
      t.equal(await subject.store.readFrozen('unknown'), null);
      t.equal(await subject.store.readFrozen('__proto__'), null);
      subject = await subject.reopen(how);
    }
  });

  await t.test('a frozen text is durable together with the rows of its batch, replaced and removed', async (t) => {
    let subject = await make();
    await subject.store.commit([put('a', 1), { frozen: '__proto__', text: 'one' }, { frozen: 'b', text: 'two' }]);
    subject = await subject.reopen('close');
    await subject.store.commit([
      { frozen: '__proto__', text: 'three' },
      { frozen: 'b', text: null },
    ]);
    for (const how of ['kill', 'close', 'kill'] as const) {
      t.equal(await subject.store.readFrozen('__proto__'), 'three');
      t.equal(await subject.store.readFrozen('b'), null);
      subject = await subject.reopen(how);
    }
  });
}

async function testClosing(t: Pick<Test, 'test'>, make: MakeSubject): Promise<void> {
  await t.test('close waits for what is pending, may be called twice, and ends commits', async (t) => {
    const subject = await make();
    const pending = watch(subject.store.commit([put('a', 1)]));
    await Promise.all([subject.store.close(), subject.store.close()]);
    t.equal(pending.settled, 'resolved');
    await t.rejects(subject.store.commit([put('b', 1)]), { code: 'store-unavailable' });
    t.strictSame(items(subject.store), [['a', 1]]);
    const { store } = await subject.reopen('close');
    t.strictSame(items(store), [['a', 1]]);
  });

  await t.test('close rejects when the disk refuses what is pending', async (t) => {
    const subject = await make();
    subject.refuseWrites('ENOSPC');
    void subject.store.commit([put('a', 1)]);
    await t.rejects(subject.store.close(), { code: 'store-unavailable' });
  });
}
