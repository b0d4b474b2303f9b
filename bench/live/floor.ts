/**
 * What this machine takes without any of our code, in the same minutes: a bare held answer of node:http between three
 * processes, and an append with fdatasync as long as that of a queued command.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiskFile } from '../../protocol/host/state/disk.ts';
import { nodeDisk } from '../../protocol/host/state/node-disk.ts';
import { pause } from '../../protocol/waiting.ts';
import { startFloor as startBareFloor } from '../pickup/floor.ts';
import { samplePickup } from '../pickup/phases.ts';
import { stampUs } from '../pickup/stamp.ts';
import { sharedClock } from './shared-clock.ts';

/** About a line of the relay's journal with one queued command. */
export const APPEND_BYTES = 900;

export interface FloorSamples {
  /** From a post until the one who was held has the answer, in milliseconds: there and back again, once. */
  readonly exchange: number[];
  readonly append: number[];
}

export interface Floor {
  /** One of each, into these samples. */
  sample(into: FloorSamples): Promise<void>;
  end(): Promise<void>;
}

export function newSamples(): FloorSamples {
  return { exchange: [], append: [] };
}

/** So many samples warm up and do not count. */
const WARM_UP = 20;

export async function startFloor(directory: string): Promise<Floor> {
  await mkdir(directory, { recursive: true });
  const file = await nodeDisk.open(join(directory, 'append'), 'replace');
  const bare = await startBareFloor();
  const exchange = async () => (await samplePickup(bare)).pickupUs / 1_000;
  let length = 0;
  const append = async () => {
    const startUs = stampUs();
    await appendTo(file, length);
    length += APPEND_BYTES;
    return (stampUs() - startUs) / 1_000;
  };
  const floor: Floor = {
    async sample(into) {
      into.exchange.push(await exchange());
      into.append.push(await append());
    },
    async end() {
      await Promise.all([bare.stop(), file.close()]);
    },
  };
  for (let count = 0; count < WARM_UP; count++) await floor.sample(newSamples());
  return floor;
}

const LINE = Buffer.alloc(APPEND_BYTES, 'x');

async function appendTo(file: DiskFile, position: number): Promise<void> {
  await file.write(LINE, position);
  await file.sync();
}

/** Between two samples beside other work: seldom enough to be no load of its own. */
const BESIDE_MS = 100;

/** Samples beside other work until it has ended. */
export async function sampleBeside(floor: Floor, work: Promise<unknown>): Promise<FloorSamples> {
  const samples = newSamples();
  const over = new AbortController();
  const done = work.then(
    () => over.abort(),
    () => over.abort(),
  );
  while (!over.signal.aborted) {
    await floor.sample(samples);
    await pause(sharedClock, BESIDE_MS, over.signal);
  }
  await done;
  return samples;
}
