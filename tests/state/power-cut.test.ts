/**
 * Power cuts at random moments, many rounds, from seeds: everything acknowledged is there, batches are whole, order
 * holds, and the start never fails, even when the state file itself is lost now and then. STATE_SEED=<n> replays one
 * round.
 */
import t from 'tap';
import { openLowdbState } from '../../protocol/host/state/lowdb-state.ts';
import { faultyDisk, noFaults, refusal } from './faulty-disk.ts';
import { MemoryDisk } from './memory-disk.ts';
import {
  keptLog,
  ManualClock,
  put,
  seededRandom,
  settle,
  TABLES,
  type TestChange,
  type TestStore,
  type TestTables,
} from './support.ts';

const ROUNDS = 120;
const LIVES = 5;
const IDS = ['a', 'b', '__proto__', 'constructor'];

/** What was committed since the folder was made, and how much of it was acknowledged. */
interface History {
  batches: TestChange[][];
  acknowledged: number;
}

/** The state after the first batches of a history, by the simplest means. */
function expected(batches: readonly TestChange[][]) {
  const rows = new Map<string, unknown>();
  const texts = new Map<string, string>();
  for (const change of batches.flat()) {
    if ('frozen' in change) {
      if (change.text === null) texts.delete(change.frozen);
      else texts.set(change.frozen, change.text);
    } else if (change.row === null) rows.delete(`${change.table}/${change.id}`);
    else rows.set(`${change.table}/${change.id}`, change.row);
  }
  return { rows, texts };
}

async function actual(store: TestStore) {
  const rows = new Map<string, unknown>();
  for (const table of TABLES) for (const [id, row] of store.rows(table)) rows.set(`${table}/${id}`, row);
  const texts = new Map<string, string>();
  for (const id of IDS) {
    const text = await store.readFrozen(id);
    if (text !== null) texts.set(id, text);
  }
  return { rows, texts };
}

function sorted(state: { rows: Map<string, unknown>; texts: Map<string, string> }) {
  return { rows: [...state.rows].sort(), texts: [...state.texts].sort() };
}

function randomBatch(number: number, random: () => number): TestChange[] {
  const any = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  // The first row tells afterwards which batch was the last one.
  const changes: TestChange[] = [put('last', number)];
  while (random() < 0.6) {
    const text = 'x'.repeat(Math.floor(random() * 900)) + number;
    if (random() < 0.5) changes.push({ frozen: any(IDS), text: random() < 0.3 ? null : text });
    else changes.push({ table: any(TABLES), id: any(IDS), row: random() < 0.3 ? null : { value: text } });
  }
  return changes;
}

interface Powered {
  readonly random: () => number;
  readonly hasPower: () => boolean;
}

/** Commits, now alone and now many at once, until the power goes. */
async function live(store: TestStore, history: History, { random, hasPower }: Powered): Promise<void> {
  for (let step = 0; step < 40 && hasPower(); step += 1) {
    const number = history.batches.length + 1;
    const batch = randomBatch(number, random);
    history.batches.push(batch);
    const committed = store.commit(batch).then(
      () => {
        history.acknowledged = Math.max(history.acknowledged, number);
      },
      () => undefined,
    );
    if (random() < 0.5) await committed;
    if (random() < 0.1) await settle(3);
  }
  // A close that is refused is a process that ends with changes that nobody was told are stored.
  if (hasPower() && random() < 0.5) await store.close().catch(() => undefined);
}

async function oneLife(disk: MemoryDisk, history: History, random: () => number) {
  const faults = noFaults();
  const dark = Promise.withResolvers<never>();
  const never = new Promise(() => {});
  let untilCut = 1 + Math.floor(random() * 250);
  const refusals = random() < 0.3 ? 0.1 : 0;
  let power = true;
  faults.before = (operation) => {
    untilCut -= 1;
    if (untilCut <= 0) {
      if (power) dark.reject(new Error('power cut'));
      power = false;
      return never;
    }
    // Reading and locking of a start are left alone: a refusal there ends the start, which is another matter.
    const mayRefuse = history.batches.length > 0 && ['write', 'sync', 'truncate', 'rename'].includes(operation);
    if (started && mayRefuse && random() < refusals) throw refusal('EIO');
    return undefined;
  };
  let started = false;
  const options = {
    directory: '/state',
    tables: TABLES,
    log: keptLog(),
    clock: new ManualClock(),
    foldAfterBytes: 700,
  };
  const life = (async () => {
    const store = await openLowdbState<TestTables>({ ...options, disk: faultyDisk(disk, faults) });
    started = true;
    await live(store, history, { random, hasPower: () => power });
  })();
  await Promise.race([life, dark.promise]).catch((error) => {
    if (power) throw error;
  });
  power = false;
  untilCut = 0;
}

/** Empties the state file if there is one: what is left must be enough for the whole state. */
async function damageState(disk: MemoryDisk): Promise<void> {
  if ((await disk.list('/state')).includes('state.json')) await disk.open('/state/state.json', 'replace');
}

async function oneRound(seed: number): Promise<string | null> {
  const random = seededRandom(seed);
  const history: History = { batches: [], acknowledged: 0 };
  let disk = new MemoryDisk();
  for (let nth = 1; nth <= LIVES; nth += 1) {
    const acknowledgedBefore = history.acknowledged;
    await oneLife(disk, history, random);
    disk = random() < 0.3 ? disk.kill() : disk.cut(random);
    if (random() < 0.3) await damageState(disk);
    const options = { directory: '/state', tables: TABLES, log: keptLog(), clock: new ManualClock() };
    const found = await openLowdbState<TestTables>({ ...options, disk });
    const last = Number(found.rows('items').get('last')?.value ?? 0);
    if (last < history.acknowledged) return `life ${nth}: ${history.acknowledged} acknowledged, ${last} found`;
    const batches = history.batches.slice(0, last);
    const [got, wanted] = [sorted(await actual(found)), sorted(expected(batches))];
    if (JSON.stringify(got) !== JSON.stringify(wanted)) return `life ${nth}: not the state after ${last} batches`;
    if (acknowledgedBefore > last) return `life ${nth}: fell behind an earlier life`;
    history.batches = batches;
    history.acknowledged = last;
    disk = disk.kill();
  }
  return null;
}

t.test('after a power cut at any moment, all that was acknowledged is there, whole and in order', async (t) => {
  const only = process.env.STATE_SEED;
  const seeds = only === undefined ? Array.from({ length: ROUNDS }, (_, index) => index + 1) : [Number(only)];
  for (const seed of seeds) {
    const wrong = await oneRound(seed).catch((error: unknown) => String(error));
    if (wrong !== null) t.fail(`STATE_SEED=${seed}: ${wrong}`);
  }
  t.pass(`${seeds.length} rounds`);
});
