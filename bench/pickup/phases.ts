/**
 * What is done with a subject: one job at a time to a worker that waits, there and back, and as many as it takes.
 *
 * Owns when the clock is read. Returns samples in microseconds; what is said of them is decided elsewhere.
 */
import { systemClock, systemIds } from '../../protocol/host/system-ports.ts';
import { stampUs } from './stamp.ts';
import type { Subject } from './subject.ts';

/** Between two jobs, so that the worker really waits. */
const GAP_MS = 10;

export interface PickupSample {
  /** From the caller's call until it is told that the job was taken. */
  readonly ackUs: number;
  /** From the same call until the worker's process has the job. */
  readonly pickupUs: number;
}

/** The result is asked for only when the worker has the job: nothing else is under way until then. */
export async function samplePickup(subject: Subject): Promise<PickupSample> {
  await gap();
  const id = systemIds.uuid();
  const picked = subject.picked(id);
  const start = stampUs();
  const acked = subject.enqueue({ id, report: true }).then(stampUs);
  const [ackedAtUs, pickedAtUs] = await Promise.all([acked, picked]);
  await subject.done(id);
  return { ackUs: ackedAtUs - start, pickupUs: pickedAtUs - start };
}

/** From the caller's call until it has the result; the worker reports nothing on the side. */
export async function sampleRoundTrip(subject: Subject): Promise<number> {
  await gap();
  return runOnce(subject);
}

/** Finished runs per second with this many under way at all times, for about `forMs`. */
export async function sampleThroughput(subject: Subject, atOnce: number, forMs: number): Promise<number> {
  const start = stampUs();
  const endUs = start + forMs * 1_000;
  let runs = 0;
  const oneAfterAnother = async () => {
    do {
      await runOnce(subject);
      runs += 1;
    } while (stampUs() < endUs);
  };
  await Promise.all(Array.from({ length: atOnce }, oneAfterAnother));
  return (runs / (stampUs() - start)) * 1_000_000;
}

async function runOnce(subject: Subject): Promise<number> {
  const id = systemIds.uuid();
  const done = subject.done(id);
  const start = stampUs();
  const [doneAtUs] = await Promise.all([done, subject.enqueue({ id, report: false })]);
  return doneAtUs - start;
}

async function gap(): Promise<void> {
  await new Promise<void>((done) => systemClock.after(GAP_MS, done));
}
