/**
 * What the processes on the other side of a measurement say to the one that started them, and that they end with it.
 */
import { writeSync } from 'node:fs';
import { stampUs } from './stamp.ts';
import type { Job } from './subject.ts';

/** The first message of such a process: it is ready, and what its starter needs to know. */
export interface ReadyNote {
  readonly ready: object;
}

/** The instant at which a job with `report` was there. */
export interface PickedNote {
  readonly id: string;
  readonly atUs: number;
}

/** Call it when the process can do its work; from then on it ends when its starter lets go. */
export function announceWorker(about: object): void {
  process.on('disconnect', () => process.exit());
  tell({ ready: about });
}

/** A worker calls this first of all with each job that it gets. Returns the id, for the result. */
export function take({ id, report }: Job): string {
  const atUs = stampUs();
  if (report) tell({ id, atUs });
  return id;
}

/** Ends the process; its starter shows what it said. */
export function endWith(error: unknown): void {
  writeSync(process.stderr.fd, `${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

export function tell(note: ReadyNote | PickedNote): void {
  process.send?.(note);
}
