/** The lock on a state folder: one living holder, and a dead one's lock is taken over at once. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Disk } from '../../protocol/host/state/disk.ts';
import { takeLock } from '../../protocol/host/state/lock.ts';
import { nodeDisk } from '../../protocol/host/state/node-disk.ts';
import { faultyDisk, noFaults, refusal } from './faulty-disk.ts';

/** The real disk as it looks from another process. */
function asProcess(pid: number, alive: Record<number, string>): Disk {
  return { ...nodeDisk, pid, processStart: async (asked) => alive[asked] ?? null };
}

t.test('a second opener in the same process is refused, with a message that helps', async (t) => {
  const directory = t.testdir({});
  const lock = await takeLock(nodeDisk, directory);
  await t.rejects(takeLock(nodeDisk, directory), {
    code: 'state-locked',
    pid: process.pid,
    message: new RegExp(`${directory} is in use by the process with the id ${process.pid}.*Stop that process`),
  });
  await lock.release();
  await (await takeLock(nodeDisk, directory)).release();
  t.strictSame(readdirSync(directory), []);
});

t.test('of many openers at one moment exactly one wins, on a free folder and on a dead holder', async (t) => {
  for (const dead of [null, JSON.stringify({ pid: 1, started: 'long ago', token: 'x' }), '', '\0\0\0']) {
    const directory = t.testdir({});
    if (dead !== null) writeFileSync(join(directory, 'lock'), dead);
    const alive = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [100 + index, `start ${index}`]));
    const openers = Object.keys(alive).map((pid) => takeLock(asProcess(Number(pid), alive), directory));
    const results = await Promise.allSettled(openers);
    t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1, String(dead));
    t.strictSame(readdirSync(directory), ['lock']);
  }
});

t.test('a slow opener does not remove the lock that a quicker one took over from the same dead process', async (t) => {
  const directory = t.testdir({});
  writeFileSync(join(directory, 'lock'), JSON.stringify({ pid: 7, started: 'dead', token: 'x' }));
  const alive = { 1: 'a', 2: 'b' };
  let quick: Promise<unknown> | null = null;
  const faults = noFaults();
  // The slow one has seen the dead lock and is about to take the guard.
  faults.before = async (operation, path) => {
    if (operation !== 'link' || !path.endsWith('lock.takeover') || quick !== null) return;
    quick = takeLock(asProcess(2, alive), directory);
    await quick;
  };
  await t.rejects(takeLock(faultyDisk(asProcess(1, alive), faults), directory), { code: 'state-locked', pid: 2 });
  t.match(readFileSync(join(directory, 'lock'), 'utf8'), /"pid":2/);
});

t.test('the lock of a dead process is taken over, also when its process id is in use again', async (t) => {
  for (const alive of [
    { 1: 'mine' },
    { 1: 'mine', 7: 'another start' },
    { 7: 'mine, with the number of the dead one' },
  ]) {
    const directory = t.testdir({});
    writeFileSync(join(directory, 'lock'), JSON.stringify({ pid: 7, started: 'before', token: 'x' }));
    const pid = Number(Object.keys(alive)[0]);
    const lock = await takeLock(asProcess(pid, alive), directory);
    await lock.release();
    t.strictSame(readdirSync(directory), []);
  }
});

t.test('a process that died while it took over does not block the next one', async (t) => {
  const dead = JSON.stringify({ pid: 7, started: 'before', token: 'x' });
  const directory = t.testdir({ lock: dead, 'lock.takeover': dead });
  await takeLock(nodeDisk, directory);
  t.strictSame(readdirSync(directory), ['lock']);
});

t.test('where the system does not tell the start of a process, a living number is a living holder', async (t) => {
  const directory = t.testdir({ lock: JSON.stringify({ pid: 7, started: '', token: 'x' }) });
  await t.rejects(takeLock(asProcess(1, { 1: 'mine', 7: '' }), directory), { code: 'state-locked', pid: 7 });
});

t.test('a lock is taken without hard links too', async (t) => {
  const directory = t.testdir({});
  const faults = noFaults();
  faults.before = (operation) => {
    if (operation === 'link') throw refusal('ENOTSUP');
  };
  const disk = faultyDisk(nodeDisk, faults);
  const lock = await takeLock(disk, directory);
  await t.rejects(takeLock(disk, directory), { code: 'state-locked' });
  await lock.release();
});

t.test('a real process counts as alive until it is killed', async (t) => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
  const pid = child.pid ?? 0;
  const started = await nodeDisk.processStart(pid);
  t.type(started, 'string');
  t.equal(await nodeDisk.processStart(pid), started);
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  t.equal(await nodeDisk.processStart(pid), null);
});
