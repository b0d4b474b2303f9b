/**
 * The floor as a subject: caller, server and worker around a bare held answer of node:http. What our ratios are of.
 */
import { siblingModule } from '../../protocol/host/sibling-module.ts';
import { Arrivals } from './arrivals.ts';
import { keepHeld, poster } from './http-caller.ts';
import { stampUs } from './stamp.ts';
import { payloadOf, type Subject } from './subject.ts';
import { startWorker } from './worker.ts';

export const FLOOR_PATHS = { jobs: '/jobs', results: '/results' } as const;

export interface FloorReady {
  readonly port: number;
}

export const FLOOR_NAME = 'floor';

export async function startFloor(): Promise<Subject> {
  const module = siblingModule('./floor-process', import.meta.url);
  const server = await startWorker<FloorReady>('server of the floor', module, ['server']);
  const place = { host: '127.0.0.1', port: server.ready.port };
  const worker = await startWorker('worker of the floor', module, ['worker', String(place.port)]);
  const results = new Arrivals<number>();
  for (const each of [server, worker]) each.onGone((error) => results.fail(error));
  keepHeld(
    { ...place, path: FLOOR_PATHS.results },
    {
      onAnswer: (text) => results.arrived((JSON.parse(text) as { id: string }).id, stampUs()),
      onGone: (error) => results.fail(error),
    },
  );
  const post = poster(place);
  return {
    name: FLOOR_NAME,
    setting: 'bare node:http, held answer',
    durable: false,
    versions: { node: process.versions.node },
    resultBy: 'a second held request',
    enqueue: async (job) => void (await post(FLOOR_PATHS.jobs, {}, payloadOf(job))),
    picked: (id) => worker.picks.wait(id),
    done: (id) => results.wait(id),
    async stop() {
      await worker.stop();
      await server.stop();
    },
  };
}
