/**
 * The process that `kill.test.ts` kills: commits numbered changes without end, eight at a time, and prints each number
 * once it is durable.
 */
import { writeSync } from 'node:fs';
import { openLowdbState } from '../../protocol/host/state/lowdb-state.ts';
import { nodeDisk } from '../../protocol/host/state/node-disk.ts';
import { keptLog, ManualClock, put, TABLES, type TestTables } from './support.ts';

const options = { directory: process.argv[2]!, tables: TABLES, log: keptLog(), clock: new ManualClock() };
const store = await openLowdbState<TestTables>({ ...options, disk: nodeDisk, foldAfterBytes: 20_000 });
let number = Number(store.rows('items').get('last')?.value ?? 0);

async function commitNext(): Promise<void> {
  number += 1;
  const mine = number;
  await store.commit([
    put('last', mine),
    put(`row ${mine % 50}`, 'x'.repeat(200)),
    { frozen: 'text', text: `text ${mine}` },
  ]);
  writeSync(1, `${mine}\n`);
}

for (;;) await Promise.all(Array.from({ length: 8 }, commitNext));
