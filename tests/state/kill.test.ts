/** A real process on a real disk, killed in the middle of its commits, ten times. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { openLowdbState } from '../../protocol/host/state/lowdb-state.ts';
import { nodeDisk } from '../../protocol/host/state/node-disk.ts';
import { keptLog, ManualClock, TABLES, type TestTables } from './support.ts';

const COMMITTER = fileURLToPath(new URL('committer.ts', import.meta.url));
const KILLS = 10;

t.test('after kill -9 in the middle of commits, every acknowledged change is there (C91)', async (t) => {
  const directory = t.testdir({});
  let acknowledged = 0;
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const child = spawn(process.execPath, [COMMITTER, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'close');
    const killAfter = acknowledged + kill * 37;
    for await (const line of createInterface({ input: child.stdout })) {
      acknowledged = Number(line);
      if (acknowledged >= killAfter) child.kill('SIGKILL');
    }
    await ended;
    t.equal(child.signalCode, 'SIGKILL');
    // The next child takes the lock over from the dead one; so do we, to look.
    const options = { directory, tables: TABLES, log: keptLog(), clock: new ManualClock() };
    const store = await openLowdbState<TestTables>({ ...options, disk: nodeDisk });
    const last = Number(store.rows('items').get('last')?.value ?? 0);
    t.ok(last >= acknowledged, `${acknowledged} acknowledged, ${last} found`);
    t.equal(await store.readFrozen('text'), `text ${last}`);
    acknowledged = last;
    await store.close();
  }
});
