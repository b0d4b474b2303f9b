/**
 * What this machine takes without any of our code, in the same minutes: a bare held answer of node:http between three
 * processes, and an append with fdatasync as long as that of a queued command.
 */
import { mkdir } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { siblingModule } from '../../protocol/host/sibling-module.ts';
import type { DiskFile } from '../../protocol/host/state/disk.ts';
import { nodeDisk } from '../../protocol/host/state/node-disk.ts';
import { pause } from '../../protocol/waiting.ts';
import { stampUs } from '../pickup/stamp.ts';
import { startHelper } from './child-talk.ts';
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
  const program = siblingModule('./floor-process', import.meta.url);
  const server = startHelper<never, { port: number }>('the floor', { program, args: ['server'] });
  const { port } = await server.heard();
  const worker = startHelper<never, { atUs: number }>('the floor', { program, args: ['worker', String(port)] });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const exchange = async () => {
    const picked = worker.heard();
    const startUs = stampUs();
    await post(agent, port);
    return ((await picked).atUs - startUs) / 1_000;
  };
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
      agent.destroy();
      await Promise.all([worker.end(), server.end(), file.close()]);
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

function post(agent: Agent, port: number): Promise<void> {
  return new Promise((done, failed) => {
    const outgoing = request({ host: '127.0.0.1', port, path: '/', method: 'POST', agent }, (incoming) => {
      incoming.resume().on('end', done);
    });
    outgoing.on('error', failed);
    outgoing.end(BODY);
  });
}

const BODY = JSON.stringify({ text: 'x'.repeat(300) });

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
