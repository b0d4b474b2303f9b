/**
 * A system whose way from a caller through a server to a waiting worker is measured: ours, the floor, or a peer.
 *
 * Caller, server and worker are three processes; the caller is the one that measures. Knows nothing of how a system
 * does it, nor of how often it is asked.
 */

/** One job. With `report` the worker says at once that it has it; without, it only does it, as in daily life. */
export interface Job {
  readonly id: string;
  readonly report: boolean;
}

export interface Subject {
  readonly name: string;
  readonly setting: string;
  /** True: the job is on disk (an fsync is over) before its caller is told that it was taken. */
  readonly durable: boolean;
  /** Of the packages and programs that are measured. */
  readonly versions: Readonly<Record<string, string>>;
  /** How the result comes back to the caller, in a few words. */
  readonly resultBy: string;
  /** Resolves when the caller is told that the job was taken. */
  enqueue(job: Job): Promise<void>;
  /** The instant (`stampUs`) at which the worker's process had the job; only for jobs with `report`. */
  picked(id: string): Promise<number>;
  /** The instant at which the caller has the result. Each job is asked for once, before `enqueue` or after it. */
  done(id: string): Promise<number>;
  /** Ends all that was started; a second time it does nothing. */
  stop(): Promise<void>;
}

/** What travels in every system: as JSON text it has this many bytes. */
export const PAYLOAD_BYTES = 200;

export interface Payload extends Job {
  readonly pad: string;
}

export function payloadOf({ id, report }: Job): Payload {
  const bare = JSON.stringify({ id, report, pad: '' }).length;
  return { id, report, pad: 'x'.repeat(PAYLOAD_BYTES - bare) };
}
