/**
 * What a module of systems/ is built with: servers, workers and results that know of each other's end.
 *
 * Owns the order of the stop (last started, first stopped), also of a start that failed half way. Whatever ends by
 * itself is told to everybody who waits for a job of this system.
 */
import { Arrivals } from '../pickup/arrivals.ts';
import { stampUs } from '../pickup/stamp.ts';
import type { Subject } from '../pickup/subject.ts';
import { startWorker } from '../pickup/worker.ts';
import type { Candidate, Setting } from './candidates.ts';
import { type Broker, type ProgramName, startBroker } from './programs.ts';

/** What only the system itself knows; the rig adds the rest of a subject. */
export type Way = Pick<Subject, 'enqueue' | 'resultBy'>;

export class Rig {
  readonly setting: Setting;
  /** Jobs that the worker does at once. */
  readonly slots: number;
  readonly versions: Record<string, string>;
  readonly #candidate: Candidate;
  readonly #stops: (() => unknown)[] = [];
  readonly #results = new Arrivals<number>();
  #picks = new Arrivals<number>();

  constructor(
    candidate: Candidate,
    about: { setting: Setting; slots: number; versions: Readonly<Record<string, string>> },
  ) {
    this.#candidate = candidate;
    this.setting = about.setting;
    this.slots = about.slots;
    this.versions = { ...about.versions };
  }

  /** What has to happen at the end, before what was deferred earlier. */
  defer(stop: () => unknown): void {
    this.#stops.push(stop);
  }

  async broker(
    name: ProgramName,
    argsFor: (place: { port: number; folder: string }) => readonly string[] | Promise<readonly string[]>,
  ): Promise<Broker> {
    const broker = await startBroker(name, argsFor);
    this.defer(() => broker.stop());
    broker.onGone((error) => this.broken(error));
    return broker;
  }

  /** A process of ours that takes part: it gets `task` as its only argument, as JSON. */
  async process<Ready = object>(module: URL, task: object): Promise<Ready> {
    const { name } = this.#candidate;
    const started = await startWorker<Ready>(name, module, [JSON.stringify(task)]);
    this.defer(() => started.stop());
    started.onGone((error) => this.broken(error));
    return started.ready;
  }

  /** The process that takes the jobs. */
  async worker(module: URL, task: object): Promise<void> {
    const started = await startWorker(`worker of ${this.#candidate.name}`, module, [JSON.stringify(task)]);
    this.defer(() => started.stop());
    started.onGone((error) => this.broken(error));
    this.#picks = started.picks;
  }

  /** The caller has the result of this job now. */
  result(id: string): void {
    this.#results.arrived(id, stampUs());
  }

  /** Ends the waits of everybody who waits for this system. */
  broken(error: Error): void {
    this.#results.fail(error);
    this.#picks.fail(error);
  }

  async subject(start: (rig: Rig) => Promise<Way>): Promise<Subject> {
    try {
      const way = await start(this);
      return {
        name: this.#candidate.name,
        setting: this.setting.name,
        durable: this.setting.durable,
        versions: this.versions,
        ...way,
        picked: (id) => this.#picks.wait(id),
        done: (id) => this.#results.wait(id),
        stop: () => this.#stop(),
      };
    } catch (error) {
      await this.#stop();
      throw error;
    }
  }

  async #stop(): Promise<void> {
    this.broken(new Error(`${this.#candidate.name} was stopped.`));
    for (const stop of this.#stops.splice(0).reverse()) await stop();
  }
}
