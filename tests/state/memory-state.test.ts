/** The store in memory: the contract, and its own crash and restore. */
import t from 'tap';
import { createMemoryState, type MemoryImage, type MemoryState } from '../../protocol/host/state/memory-state.ts';
import { type Subject, testStoreContract } from './store-contract.ts';
import { items, ManualClock, put, settle, TABLES, type TestTables, watch } from './support.ts';

const SYNC_DELAY_MS = 5;

function subjectOf(restore?: MemoryImage): Subject {
  const clock = new ManualClock();
  const immediate = new Pacer(clock);
  const store = createMemoryState<TestTables>({
    tables: TABLES,
    clock: immediate,
    syncDelayMs: SYNC_DELAY_MS,
    ...(restore && { restore }),
  });
  return {
    store,
    async reopen(how) {
      if (how === 'close') await store.close();
      return subjectOf((store as MemoryState<TestTables>).crash());
    },
    holdWrites: () => immediate.hold(),
    async finishWrite() {
      clock.advance(SYNC_DELAY_MS);
      await settle();
    },
    refuseWrites: (reason) => (store as MemoryState<TestTables>).failWrites(reason),
    async passRetryPause() {
      clock.advance(1_000);
      await settle();
    },
  };
}

/** The time of a write passes by itself until writes are held. */
class Pacer {
  readonly #clock: ManualClock;
  #held = false;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  hold(): void {
    this.#held = true;
  }

  after(delayMs: number, run: () => void) {
    if (delayMs === SYNC_DELAY_MS && !this.#held) {
      queueMicrotask(run);
      return { cancel() {} };
    }
    return this.#clock.after(delayMs, run);
  }
}

testStoreContract('memory', async () => subjectOf());

t.test('without a delay a commit is durable within the turn', async (t) => {
  const store = createMemoryState<TestTables>();
  const committed = watch(store.commit([put('a', 1)]));
  await new Promise((resume) => setImmediate(resume));
  t.equal(committed.settled, 'resolved');
});

t.test('a crash keeps what was durable, and nothing of the crashed store settles any more', async (t) => {
  const clock = new ManualClock();
  const store = createMemoryState<TestTables>({ clock, syncDelayMs: 5 });
  void store.commit([put('a', 1), put('b', 1)]);
  await settle();
  clock.advance(5);
  await settle();
  const lost = watch(store.commit([put('c', 1)]));
  await settle();
  const image = store.crash();
  const late = watch(store.commit([put('d', 1)]));
  clock.advance(60_000);
  await settle();
  t.strictSame([lost.settled, late.settled], ['pending', 'pending']);
  const next = createMemoryState<TestTables>({ restore: image });
  t.strictSame(items(next), [
    ['a', 1],
    ['b', 1],
  ]);
});

t.test('an image does not change when the store that began with it goes on', async (t) => {
  const first = createMemoryState<TestTables>();
  await first.commit([put('a', 1), { frozen: 'f', text: 'one' }]);
  const image = first.crash();
  const second = createMemoryState<TestTables>({ restore: image });
  await second.commit([put('a', 2), { frozen: 'f', text: null }]);
  const third = createMemoryState<TestTables>({ restore: image });
  t.strictSame(items(third), [['a', 1]]);
  t.equal(await third.readFrozen('f'), 'one');
});
