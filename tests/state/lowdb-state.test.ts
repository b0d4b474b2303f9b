/** The lowdb store: the contract on a disk in memory (for kills, holds and refusals), folding, and the real disk. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Disk } from '../../protocol/host/state/disk.ts';
import { openLowdbState } from '../../protocol/host/state/lowdb-state.ts';
import { nodeDisk } from '../../protocol/host/state/node-disk.ts';
import { faultyDisk, noFaults, refusal } from './faulty-disk.ts';
import { MemoryDisk } from './memory-disk.ts';
import { type Subject, testStoreContract } from './store-contract.ts';
import { items, keptLog, ManualClock, put, settle, TABLES, type TestTables, until } from './support.ts';

const DIRECTORY = '/state';

function open(disk: Disk, options: { directory?: string; foldAfterBytes?: number; clock?: ManualClock } = {}) {
  const { directory = DIRECTORY, clock = new ManualClock(), foldAfterBytes = 1_048_576 } = options;
  return openLowdbState<TestTables>({ disk, directory, tables: TABLES, log: keptLog(), clock, foldAfterBytes });
}

async function subjectOn(disk: MemoryDisk, foldAfterBytes: number): Promise<Subject> {
  const clock = new ManualClock();
  const faults = noFaults();
  const store = await open(faultyDisk(disk, faults), { clock, foldAfterBytes });
  let refused: string | null = null;
  let held: (() => void)[] | null = null;
  faults.before = async (operation, path) => {
    if (operation !== 'sync' || !path.endsWith('.log')) return;
    if (held !== null) await new Promise<void>((resume) => held?.push(resume));
    if (refused !== null) throw refusal(refused);
  };
  return {
    store,
    async reopen(how) {
      if (how === 'close') await store.close();
      return subjectOn(disk.kill(), foldAfterBytes);
    },
    holdWrites: () => {
      held = [];
    },
    async finishWrite() {
      held?.shift()?.();
      await settle();
    },
    refuseWrites: (reason) => {
      refused = reason;
    },
    async passRetryPause() {
      clock.advance(1_000);
      await settle();
    },
  };
}

testStoreContract('lowdb', () => subjectOn(new MemoryDisk(), 1_048_576));

t.test('rows and texts come through many folds on the real disk', async (t) => {
  const directory = join(t.testdir({}), 'made', 'here');
  let store = await open(nodeDisk, { directory, foldAfterBytes: 500 });
  for (let index = 0; index < 300; index += 1) {
    await store.commit([put(String(index % 20), index), { frozen: String(index % 7), text: `text ${index}` }]);
    if (index % 60 === 59) {
      await store.close();
      store = await open(nodeDisk, { directory, foldAfterBytes: 500 });
    }
  }
  t.equal(store.rows('items').size, 20);
  t.strictSame(store.rows('items').get('19'), { value: 299 });
  t.equal(await store.readFrozen('5'), 'text 299');
  await store.close();
  const names = readdirSync(directory);
  t.ok(names.includes('state.json') && names.includes('state.last-good.json'));
  t.ok(names.length < 12, `old segments and texts are deleted: ${names.join(', ')}`);
  t.notOk(names.some((name) => name.includes('tmp') || name === 'lock'));
  if (process.platform !== 'win32') {
    t.equal(statSync(directory).mode & 0o777, 0o700);
    for (const name of names) t.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name);
  }
});

t.test('a commit during a fold does not wait for the fold', async (t) => {
  const faults = noFaults();
  const disk = new MemoryDisk();
  const store = await open(faultyDisk(disk, faults), { foldAfterBytes: 10 });
  let release = () => {};
  const gate = new Promise<void>((resume) => {
    release = resume;
  });
  let folding = false;
  faults.before = async (operation, path) => {
    if (operation !== 'rename' || !path.endsWith('state.json')) return;
    folding = true;
    await gate;
  };
  await store.commit([put('a', 1)]);
  await until(() => folding);
  await store.commit([put('a', 2), { frozen: 'f', text: 'during' }]);
  await store.commit([put('b', 2)]);
  const killed = await open(disk.kill());
  t.strictSame(items(killed), [
    ['a', 2],
    ['b', 2],
  ]);
  release();
  await store.close();
});

t.test('a text that changes while it is folded stays as it has become', async (t) => {
  const faults = noFaults();
  const disk = new MemoryDisk();
  const store = await open(faultyDisk(disk, faults), { foldAfterBytes: 10 });
  let committed: Promise<void> | null = null;
  faults.before = (operation, path) => {
    if (operation !== 'rename' || !path.endsWith('state.json')) return;
    committed ??= store.commit([
      { frozen: 'replaced', text: 'new' },
      { frozen: 'removed', text: null },
    ]);
  };
  await store.commit(['replaced', 'removed', 'kept'].map((frozen) => ({ frozen, text: 'old' })));
  await until(() => committed !== null);
  await committed;
  await settle();
  const expected = ['new', null, 'old'];
  const read = async (from: typeof store) =>
    Promise.all(['replaced', 'removed', 'kept'].map((id) => from.readFrozen(id)));
  t.strictSame(await read(store), expected);
  t.strictSame(await read(await open(disk.kill())), expected);
});

t.test('a table of another version of the program is kept', async (t) => {
  const disk = new MemoryDisk();
  const store = await open(disk);
  await store.commit([put('a', 1)]);
  await store.close();
  const options = { disk, directory: DIRECTORY, log: keptLog(), clock: new ManualClock() };
  const older = await openLowdbState<Pick<TestTables, 'others'>>({ ...options, tables: ['others'] });
  await older.commit([{ table: 'others', id: 'x', row: { value: 1 } }]);
  await older.close();
  t.strictSame(items(await open(disk)), [['a', 1]]);
});
