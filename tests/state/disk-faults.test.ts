/** Disks that refuse, take too little, or hold a file open: nothing is lost, nothing tears, all of it heals. */
import t from 'tap';
import type { Disk } from '../../protocol/host/state/disk.ts';
import { LowdbFile } from '../../protocol/host/state/lowdb-file.ts';
import { openLowdbState } from '../../protocol/host/state/lowdb-state.ts';
import { type Faults, faultyDisk, noFaults, refusal } from './faulty-disk.ts';
import { MemoryDisk } from './memory-disk.ts';
import { items, keptLog, ManualClock, put, settle, TABLES, type TestTables, until } from './support.ts';

const DIRECTORY = '/state';

interface Setup {
  readonly disk: MemoryDisk;
  readonly faults: Faults;
  readonly clock: ManualClock;
  readonly log: ReturnType<typeof keptLog>;
}

function setup(): Setup {
  return { disk: new MemoryDisk(), faults: noFaults(), clock: new ManualClock(), log: keptLog() };
}

function open({ faults, clock, log }: Setup, disk: Disk, foldAfterBytes = 1_048_576) {
  const options = { disk: faultyDisk(disk, faults), directory: DIRECTORY, tables: TABLES, log, clock, foldAfterBytes };
  return openLowdbState<TestTables>(options);
}

for (const code of ['ENOSPC', 'EIO', 'EPERM']) {
  for (const operation of ['write', 'sync'] as const) {
    t.test(`${code} from ${operation} keeps changes in order until the disk takes them`, async (t) => {
      const context = setup();
      const store = await open(context, context.disk);
      await store.commit([put('a', 1)]);
      context.faults.before = (done) => {
        if (done === operation) throw refusal(code);
      };
      for (const id of ['b', 'c', 'd']) await t.rejects(store.commit([put(id, 1)]), { code: 'store-unavailable' });
      t.match(store.status(), { writable: false, reason: new RegExp(code) });
      t.equal(context.log.events().filter((event) => event === 'state.write-refused').length, 1, 'told once');
      const withoutUnsynced = context.disk.cut(() => 0.99);
      t.strictSame(items(await open(setup(), withoutUnsynced)), [['a', 1]]);
      context.faults.before = () => undefined;
      context.clock.advance(1_000);
      await settle();
      t.strictSame(store.status(), { writable: true, reason: null });
      t.ok(context.log.events().includes('state.write-healed'));
      t.equal(context.clock.armed, 0);
      const expected = ['a', 'b', 'c', 'd'].map((id) => [id, 1]);
      t.strictSame(items(await open(setup(), context.disk.kill())), expected);
    });
  }
}

t.test('a write that the disk took half of is cut off before the next one', async (t) => {
  const context = setup();
  const store = await open(context, context.disk);
  await store.commit([put('a', 1)]);
  let left = 1;
  context.faults.shortWrite = () => 30;
  context.faults.before = (operation) => {
    if (operation === 'write' && left-- <= 0) throw refusal('ENOSPC');
  };
  await t.rejects(store.commit([put('b', 'x'.repeat(300))]));
  const torn = await open(setup(), context.disk.kill());
  t.strictSame(items(torn), [['a', 1]]);
  context.faults.before = () => undefined;
  context.faults.shortWrite = (bytes) => Math.ceil(bytes / 3);
  await store.commit([put('c', 1)]);
  t.strictSame([...(await open(setup(), context.disk.kill())).rows('items').keys()], ['a', 'b', 'c']);
});

t.test('a torn end that cannot be cut off yet is not written behind', async (t) => {
  const context = setup();
  const store = await open(context, context.disk);
  context.faults.before = (operation) => {
    if (operation === 'sync' || operation === 'truncate') throw refusal('EIO');
  };
  await t.rejects(store.commit([put('a', 1)]));
  await t.rejects(store.commit([put('b', 1)]));
  context.faults.before = () => undefined;
  await store.commit([put('c', 1)]);
  t.strictSame([...(await open(setup(), context.disk.kill())).rows('items').keys()], ['a', 'b', 'c']);
});

t.test('a rename that fails three times while a scanner holds the file works in the end (C95)', async (t) => {
  const context = setup();
  let failures = 0;
  context.faults.before = (operation, path) => {
    if (operation !== 'rename' || !path.endsWith('/state.json') || failures === 3) return;
    failures += 1;
    throw refusal(failures === 2 ? 'EBUSY' : 'EPERM');
  };
  const store = await open(context, context.disk, 10);
  await store.commit([put('a', 1)]);
  for (let round = 1; round <= 3; round += 1) {
    await until(() => failures === round && context.clock.armed === 1);
    await store.commit([put('a', round)]);
    context.clock.advance(500);
  }
  await until(() => context.log.events().includes('state.folded'));
  t.strictSame(store.status(), { writable: true, reason: null });
});

t.test('a rename that fails for ever is given up, shown, and tried again; commits go on (C95)', async (t) => {
  const context = setup();
  let failures = 0;
  let held = true;
  context.faults.before = (operation, path) => {
    if (!held || operation !== 'rename' || !path.endsWith('/state.json')) return;
    failures += 1;
    throw refusal('EPERM');
  };
  const store = await open(context, context.disk, 10);
  await store.commit([put('a', 1), { frozen: 'f', text: 'text' }]);
  for (let round = 1; round < 6; round += 1) {
    await until(() => failures === round && context.clock.armed === 1);
    context.clock.advance(1_000);
  }
  await until(() => context.log.events().includes('state.fold-failed'));
  t.match(store.status(), { writable: true, reason: /cannot be renewed \(EPERM/ });
  await store.commit([put('b', 1)]);
  await settle();
  t.equal(failures, 6, 'no further try before the pause is over');
  const killed = await open(setup(), context.disk.kill());
  t.strictSame(items(killed), [
    ['a', 1],
    ['b', 1],
  ]);
  t.equal(await killed.readFrozen('f'), 'text');
  held = false;
  context.clock.advance(30_000);
  await until(() => context.log.events().includes('state.folded'));
  t.strictSame(store.status(), { writable: true, reason: null });
  t.equal(await store.readFrozen('f'), 'text');
  const names = await context.disk.list(DIRECTORY);
  t.notOk(names.some((name) => name.includes('.tmp-')));
  await store.close();
  t.strictSame(items(await open(setup(), context.disk)), [
    ['a', 1],
    ['b', 1],
  ]);
});

t.test('a close whose fold fails keeps everything in the journal and gives the lock back (C95)', async (t) => {
  const context = setup();
  const store = await open(context, context.disk);
  await store.commit([put('a', 1)]);
  context.faults.before = (operation) => {
    if (operation === 'link') throw refusal('EMLINK');
    if (operation === 'rename') throw refusal('EIO');
  };
  await store.close();
  t.ok(context.log.events().includes('state.fold-failed'));
  t.equal(context.clock.armed, 0);
  t.strictSame(items(await open(setup(), context.disk)), [['a', 1]]);
});

t.test('a close on a disk that refuses ends, also in the middle of a fold, and gives the lock back', async (t) => {
  const context = setup();
  const store = await open(context, context.disk, 10);
  const gate = Promise.withResolvers<void>();
  let folding = false;
  context.faults.before = async (operation, path) => {
    if (operation === 'open' && path.endsWith('journal-2.log')) {
      folding = true;
      await gate.promise;
    }
    if (operation === 'sync' && path.endsWith('journal-1.log') && folding) throw refusal('EIO');
  };
  await store.commit([put('a', 1)]);
  await until(() => folding);
  await t.rejects(store.commit([put('b', 1)]));
  const closed = store.close();
  await settle();
  gate.resolve();
  await t.rejects(closed, { code: 'store-unavailable' });
  await t.rejects(store.synced(), { code: 'store-unavailable' });
  t.equal(context.clock.armed, 0);
  t.strictSame((await open(setup(), context.disk)).rows('items').get('a'), { value: 1 });
});

t.test('a disk that fills up during a fold loses nothing and leaves no half files behind', async (t) => {
  for (const victim of ['journal-2.log', 'frozen-1.jsonl', 'state.json.tmp']) {
    const context = setup();
    const store = await open(context, context.disk, 10);
    context.faults.before = (operation, path) => {
      if (operation === 'write' && path.includes(victim)) throw refusal('ENOSPC');
    };
    await store.commit([put('a', 1), { frozen: 'f', text: 'text' }]);
    await until(() => context.log.events().includes('state.fold-failed'));
    const names = await context.disk.list(DIRECTORY);
    t.notOk(
      names.some((name) => name.includes('.tmp-') || name.startsWith('frozen')),
      names.join(', '),
    );
    context.faults.before = () => undefined;
    await store.commit([put('b', 1)]);
    context.clock.advance(30_000);
    await until(() => context.log.events().includes('state.folded'));
    const killed = await open(setup(), context.disk.kill());
    t.strictSame(items(killed), [
      ['a', 1],
      ['b', 1],
    ]);
    t.equal(await killed.readFrozen('f'), 'text');
  }
});

t.test('old files that cannot be removed do not make a fold fail', async (t) => {
  const context = setup();
  const store = await open(context, context.disk, 10);
  context.faults.before = (operation, path) => {
    if (operation === 'remove' && path.includes('journal')) throw refusal('EPERM');
  };
  for (let fold = 1; fold <= 3; fold += 1) {
    await store.commit([put('a', 'x'.repeat(1_000 * 3 ** fold))]);
    await until(() => context.log.events().filter((event) => event === 'state.folded').length === fold);
    await settle();
  }
  t.ok(context.log.events().includes('state.cleanup-failed'));
  t.strictSame(store.status(), { writable: true, reason: null });
  t.equal((await open(setup(), context.disk.kill())).rows('items').size, 1);
});

t.test('two saves at once leave one whole file and no other (C94)', async (t) => {
  const disk = new MemoryDisk();
  const file = new LowdbFile({ disk, directory: DIRECTORY, clock: new ManualClock() });
  const state = (through: number) => ({ through, segment: 1, tables: [], frozen: [] });
  await file.write(state(0));
  await Promise.all([file.write(state(1)), file.write(state(2))]);
  t.match((await file.read())?.through, /1|2/);
  t.strictSame((await disk.list(DIRECTORY)).sort(), ['state.json', 'state.last-good.json']);
});

t.test('without hard links the last good copy is a copy', async (t) => {
  const context = setup();
  context.faults.before = (operation) => {
    if (operation === 'link') throw refusal('ENOTSUP');
  };
  for (const id of ['a', 'b']) {
    const store = await open(context, context.disk);
    await store.commit([put(id, 1)]);
    await store.close();
  }
  await context.disk.remove(`${DIRECTORY}/state.json`);
  t.strictSame(items(await open(setup(), context.disk)), [
    ['a', 1],
    ['b', 1],
  ]);
});
