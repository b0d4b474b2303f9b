/** What the lowdb store does with damaged, missing and foreign files. Real files, damaged one at a time. */
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import t from 'tap';
import { openLowdbState } from '../../protocol/host/state/lowdb-state.ts';
import { nodeDisk } from '../../protocol/host/state/node-disk.ts';
import { StateDamagedError } from '../../protocol/host/state/state-errors.ts';
import { items, type KeptLog, keptLog, ManualClock, put, TABLES, type TestStore, type TestTables } from './support.ts';

function open(directory: string, log: KeptLog = keptLog()): Promise<TestStore> {
  return openLowdbState<TestTables>({ disk: nodeDisk, directory, tables: TABLES, log, clock: new ManualClock() });
}

const filled = new Map<number, string>();

/** A folder with `folds` state files behind each other, and one batch in the journal behind the last one. */
async function fill(directory: string, folds: number): Promise<void> {
  const model = filled.get(folds);
  if (model !== undefined) return cpSync(model, directory, { recursive: true });
  for (let fold = 1; fold <= folds; fold += 1) {
    const store = await open(directory);
    await store.commit([put(`fold ${fold}`, fold), { frozen: `text ${fold}`, text: `text of fold ${fold}` }]);
    await store.close();
  }
  await withoutClosing(directory, [put('journal', 1)]);
  const kept = join(t.testdirName, `model-${folds}`);
  cpSync(directory, kept, { recursive: true });
  filled.set(folds, kept);
}

/** Commits and leaves the folder as a kill would: no fold, no close. The lock is removed in the dead one's place. */
async function withoutClosing(directory: string, changes: Parameters<TestStore['commit']>[0]): Promise<void> {
  const store = await open(directory);
  await store.commit(changes);
  rmSync(join(directory, 'lock'));
}

function contents(directory: string): Map<string, string> {
  return new Map(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'latin1')]));
}

function lastJournal(directory: string): string {
  const numbers = readdirSync(directory).flatMap((name) => /^journal-(\d+)\.log$/.exec(name)?.[1] ?? []);
  return join(directory, `journal-${Math.max(...numbers.map(Number))}.log`);
}

t.testdir({});

type Damage = (path: string) => void;

const replaceBy =
  (content: string | Buffer): Damage =>
  (path) =>
    writeFileSync(path, content);

const rewrite =
  (change: (text: string) => string): Damage =>
  (path) =>
    writeFileSync(path, change(readFileSync(path, 'utf8')));

const DAMAGES: Record<string, Damage> = {
  'zero bytes of the same length (C88)': (path) => writeFileSync(path, Buffer.alloc(readFileSync(path).length)),
  'no content (C88, C92)': replaceBy(''),
  'half of its content (C88)': rewrite((text) => text.slice(0, text.length / 2)),
  'only its first line (C88)': rewrite((text) => text.slice(0, text.indexOf('\n') + 1)),
  'junk behind it (C88)': rewrite((text) => `${text}junk`),
  'a second copy behind it (C88)': rewrite((text) => text + text),
  '{} (C92)': replaceBy('{}'),
  'null (C92)': replaceBy('null'),
  'a stray comma (C92)': rewrite((text) => text.replace(/\}\n$/, ',}\n')),
  'a byte order mark (C92)': rewrite((text) => `\ufeff${text}`),
  'a list (C92)': replaceBy('[]\n[]\n'),
  'one changed letter': rewrite((text) => text.replace('fold 1', 'gold 1')),
};

for (const [name, damage] of Object.entries(DAMAGES)) {
  for (const folds of [1, 2, 4]) {
    t.test(`a state file with ${name} is made up for after ${folds} folds`, async (t) => {
      const directory = t.testdir({});
      await fill(directory, folds);
      damage(join(directory, 'state.json'));
      const damaged = readFileSync(join(directory, 'state.json'), 'latin1');
      const log = keptLog();
      const store = await open(directory, log);
      t.equal(store.rows('items').size, folds + 1);
      for (let fold = 1; fold <= folds; fold += 1) {
        t.equal(await store.readFrozen(`text ${fold}`), `text of fold ${fold}`);
      }
      const warning = log.lines.find(({ event }) => event === 'state.restored');
      t.equal(warning?.level, 'warn');
      t.equal(readFileSync(String(warning?.fields.kept), 'latin1'), damaged, 'the damaged file is kept');
      await store.close();
      const again = await open(directory, log);
      t.equal(again.rows('items').size, folds + 1);
      t.equal(log.events().filter((event) => event === 'state.restored').length, 1);
      await again.close();
    });
  }

  t.test(`two state files with ${name} stop the start, and nothing is changed`, async (t) => {
    const directory = t.testdir({});
    await fill(directory, 3);
    damage(join(directory, 'state.json'));
    damage(join(directory, 'state.last-good.json'));
    const before = contents(directory);
    await t.rejects(open(directory), {
      code: 'state-damaged',
      message: /state\.json .*state\.last-good\.json, .*backup/,
    });
    t.strictSame(contents(directory), before);
  });
}

t.test('a restored state can be damaged and restored again, and each damaged file is kept (C88)', async (t) => {
  const directory = t.testdir({});
  await fill(directory, 2);
  for (let round = 1; round <= 3; round += 1) {
    writeFileSync(join(directory, 'state.json'), '');
    const store = await open(directory);
    t.equal(store.rows('items').size, 3);
    await store.close();
    t.equal(readdirSync(directory).filter((name) => name.includes('.damaged-')).length, round);
  }
});

t.test('a kill right after a damaged file was moved aside loses nothing (C88)', async (t) => {
  const directory = t.testdir({});
  await fill(directory, 3);
  renameSync(join(directory, 'state.json'), join(directory, 'state.json.damaged-before'));
  const log = keptLog();
  const store = await open(directory, log);
  t.equal(store.rows('items').size, 4);
  t.ok(log.events().includes('state.restored'));
  await store.close();
});

t.test('a state file of a newer version stops the start, though there is a last good copy (C92)', async (t) => {
  const directory = t.testdir({});
  await fill(directory, 3);
  rewrite((text) => text.replace('"version":1', '"version":2'))(join(directory, 'state.json'));
  const before = contents(directory);
  await t.rejects(open(directory), { code: 'state-damaged', message: /newer version/ });
  t.strictSame(contents(directory), before);
});

t.test('a journal of a newer version stops the start (C92)', async (t) => {
  const directory = t.testdir({});
  await fill(directory, 1);
  const header = JSON.stringify({ format: 'graph-relay-journal', version: 2, segment: 2 });
  replaceBy(`${crc32(header).toString(16).padStart(8, '0')} ${header}\n`)(lastJournal(directory));
  const before = contents(directory);
  await t.rejects(open(directory), { code: 'state-damaged', message: /newer version/ });
  t.strictSame(contents(directory), before);
});

t.test('missing state files are told from a first start (C92)', async (t) => {
  const directory = t.testdir({});
  await fill(directory, 3);
  rmSync(join(directory, 'state.json'));
  rmSync(join(directory, 'state.last-good.json'));
  const before = contents(directory);
  await t.rejects(open(directory), { code: 'state-damaged', message: /state\.json is missing/ });
  t.strictSame(contents(directory), before);
});

t.test('an empty folder is a first start', async (t) => {
  const log = keptLog();
  const store = await open(t.testdir({}), log);
  t.strictSame(items(store), []);
  t.notOk(log.lines.some(({ level }) => level === 'warn'));
  await store.close();
});

const TAILS: Record<string, Damage> = {
  'half a line': rewrite((text) => text.slice(0, -20)),
  'a line without its end': rewrite((text) => text.slice(0, -1)),
  'zero bytes behind it': (path) => writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.alloc(5_000)])),
  'junk behind it': rewrite((text) => `${text}junk\n,`),
};

for (const [name, damage] of Object.entries(TAILS)) {
  t.test(`a journal that ends with ${name} is cut back to its last whole line (C88)`, async (t) => {
    const directory = t.testdir({});
    await fill(directory, 1);
    const whole = readFileSync(lastJournal(directory), 'utf8');
    damage(lastJournal(directory));
    const log = keptLog();
    const store = await open(directory, log);
    t.ok(log.events().includes('state.tail-cut'));
    t.notOk(log.events().includes('state.restored'));
    t.equal(store.rows('items').get('fold 1')?.value, 1);
    t.equal(store.rows('items').has('journal'), name.endsWith('behind it'));
    t.ok(whole.startsWith(readFileSync(lastJournal(directory), 'utf8')));
    await store.commit([put('after', 1)]);
    rmSync(join(directory, 'lock'));
    const again = await open(directory);
    t.equal(again.rows('items').get('after')?.value, 1);
    await again.close();
  });
}

t.test('a journal whose making was cut off is made again (C88)', async (t) => {
  for (const content of ['', '5b0c', '\0'.repeat(60)]) {
    const directory = t.testdir({});
    writeFileSync(join(directory, 'journal-1.log'), content);
    const store = await open(directory);
    await store.commit([put('a', 1)]);
    rmSync(join(directory, 'lock'));
    const again = await open(directory);
    t.strictSame(items(again), [['a', 1]]);
    await again.close();
  }
});

const JOURNAL_DAMAGES: Record<string, Damage> = {
  'zero bytes of the same length': DAMAGES['zero bytes of the same length (C88)']!,
  'a changed letter in front of a good line': rewrite((text) => text.replace('"journal"', '"jourmal"')),
  'zero bytes in front of a good line': rewrite((text) => text.replace('"journal"', '\0\0\0\0\0\0\0\0\0')),
  'a byte order mark': rewrite((text) => `\ufeff${text}`),
  'a missing line': rewrite((text) => text.split('\n').toSpliced(1, 1).join('\n')),
  'a line that is there twice': rewrite((text) => `${text + text.split('\n').at(-2)}\n`),
  'the number of another segment': rewrite((text) =>
    text.replace(/^.*\n/, '3a1b2c4d {"format":"graph-relay-journal"}\n'),
  ),
};

for (const [name, damage] of Object.entries(JOURNAL_DAMAGES)) {
  t.test(`a journal with ${name} stops the start, and nothing is changed (C88)`, async (t) => {
    const directory = t.testdir({});
    await fill(directory, 2);
    await withoutClosing(directory, [put('behind', 1)]);
    damage(lastJournal(directory));
    const before = contents(directory);
    const error = await open(directory).then(
      () => null,
      (reason: unknown) => reason,
    );
    if (!(error instanceof StateDamagedError)) return t.fail('the start went on');
    t.equal(error.path, lastJournal(directory));
    t.match(error.message, /backup/);
    t.strictSame(contents(directory), before);
  });
}

t.test('a missing journal stops the start; an empty file in its place goes on without it', async (t) => {
  const directory = t.testdir({});
  await fill(directory, 2);
  const path = lastJournal(directory);
  rmSync(path);
  await t.rejects(open(directory), { code: 'state-damaged', path, message: /is missing.*empty file in its place/ });
  writeFileSync(path, '');
  const store = await open(directory);
  t.strictSame(items(store), [
    ['fold 1', 1],
    ['fold 2', 2],
  ]);
  await store.close();
});

t.test('a damaged frozen text is an error of its reader only', async (t) => {
  const directory = t.testdir({});
  await fill(directory, 2);
  rewrite((text) => text.replace('of fold 1', 'of gold 1'))(join(directory, 'frozen-1.jsonl'));
  const store = await open(directory);
  await t.rejects(store.readFrozen('text 1'), { code: 'state-damaged', message: /frozen-1\.jsonl is damaged/ });
  t.equal(await store.readFrozen('text 2'), 'text of fold 2');
  rmSync(join(directory, 'frozen-2.jsonl'));
  await t.rejects(store.readFrozen('text 2'), { code: 'state-damaged', message: /is missing/ });
  await store.commit([put('alive', 1)]);
  await store.close();
});

t.test('what a kill left of files being written is removed at the start, read-only ones too (C94)', async (t) => {
  const directory = t.testdir({
    'state.json.tmp-1': 'left',
    'state.last-good.json.tmp-2': 'left',
    'lock.tmp-3': 'left',
  });
  chmodSync(join(directory, 'state.json.tmp-1'), 0o400);
  const store = await open(directory);
  t.strictSame(readdirSync(directory).sort(), ['journal-1.log', 'lock']);
  await store.close();
});

t.test('frozen files that nobody needs go at the next fold, and the last good copy keeps its own', async (t) => {
  const directory = t.testdir({});
  await fill(directory, 1);
  for (const step of ['removed', 'one fold later', 'two folds later']) {
    const store = await open(directory);
    await store.commit(step === 'removed' ? [{ frozen: 'text 1', text: null }] : [put(step, 1)]);
    await store.close();
    t.equal(existsSync(join(directory, 'frozen-1.jsonl')), step === 'removed', step);
  }
});
