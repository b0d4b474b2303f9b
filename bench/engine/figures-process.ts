/**
 * A process with nothing but the engine in it, which measures itself: how soon a Graph's first statement runs, and what a
 * run costs in memory.
 *
 * Owns the order of the measurements. Its one message is its figures; then it ends with its starter.
 */
import { readdirSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createEngine, type EngineOptions, type GraphEngine } from '../../desktop-agent/engine/engine.ts';
import { systemClock, systemIds } from '../../protocol/host/system-ports.ts';
import { runChannel } from '../../protocol/ids.ts';
import type { Log } from '../../protocol/ports.ts';
import { stampUs } from '../pickup/stamp.ts';
import { announceWorker } from '../pickup/worker-side.ts';
import { namedRandom } from '../sim/seeded.ts';
import type { EngineFigures } from './result.ts';

/** Its one argument, as JSON. */
export interface FiguresTask {
  readonly runs: number;
  /** Runs one after another, between two looks at memory. */
  readonly row: number;
  /** Draws who goes first in each round. */
  readonly seed: number;
}

/** Runs that wait at the same time while memory is read. */
const RUNS_HELD = 8;
/** Runs before the first look at memory. */
const ROW_WARM_UP = 10;
const MIB = 2 ** 20;

const FIRST_STATEMENT = "export const meta = { name: 'Bench' }; log('first'); return 1;";
const WAITS = "export const meta = { name: 'Bench' }; log('first'); return await agent('wait');";
const ASKS = "export const meta = { name: 'Bench' }; const said = await agent('hello'); log(said); return { said };";

const log: Log = { debug() {}, info() {}, warn() {}, error() {} };
const ports = { clock: systemClock, ids: systemIds, log };

const provider: EngineOptions['provider'] = {
  ask: ({ prompt, signal }) =>
    prompt === 'wait'
      ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
      : Promise.resolve({ text: prompt, tokens: 1 }),
};

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Resident MiB once garbage is gone, as far as that can be told: the least of a few looks. */
async function residentMib(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let look = 0; look < 5; look += 1) {
    collect();
    await new Promise<void>((done) => systemClock.after(50, done));
    least = Math.min(least, process.memoryUsage.rss() / MIB);
  }
  return Math.round(least * 10) / 10;
}

interface Begun {
  /** The instant of the Graph's first statement. */
  readonly first: Promise<number>;
  readonly done: Promise<unknown>;
  cancel(reason: string): void;
}

function begin(engine: GraphEngine, source: string): Begun {
  const { promise: first, resolve } = Promise.withResolvers<number>();
  const commandId = systemIds.uuid();
  const running = engine.start({
    commandId,
    executionId: systemIds.uuid(),
    channel: runChannel(commandId),
    name: 'bench.js',
    source,
    args: {},
    onEvent: ({ type }) => type === 'log' && resolve(stampUs()),
  });
  return { first, done: running.done, cancel: (reason) => running.cancel(reason) };
}

async function sampleStart(engine: GraphEngine): Promise<number> {
  await engine.warmedUp();
  const startedAt = stampUs();
  const { first, done } = begin(engine, FIRST_STATEMENT);
  const us = Math.round((await first) - startedAt);
  await done;
  return us;
}

/** Both in turns, in an order that is drawn: such machines change their speed from minute to minute. */
async function measureStarts({ runs, seed }: FiguresTask): Promise<EngineFigures['start_us']> {
  const warm = createEngine({ ports, provider });
  const cold = createEngine({ ports, provider, keepWarm: false });
  const random = namedRandom(seed, 'engine');
  const samples: EngineFigures['start_us'] = { warm: [], cold: [] };
  for (let run = 0; run <= runs; run += 1) {
    const order = random.next() < 0.5 ? (['warm', 'cold'] as const) : (['cold', 'warm'] as const);
    for (const kind of order) {
      const us = await sampleStart(kind === 'warm' ? warm : cold);
      // The first of each warms up the process and does not count.
      if (run > 0) samples[kind].push(us);
    }
  }
  await Promise.all([warm.close(), cold.close()]);
  return samples;
}

async function measureMemory(): Promise<EngineFigures['memory_mib']> {
  const none = createEngine({ ports, provider, keepWarm: false });
  const base = await residentMib();
  const one = createEngine({ ports, provider });
  await one.warmedUp();
  const withWarm = await residentMib();
  await one.close();
  const before = await residentMib();
  const held = Array.from({ length: RUNS_HELD }, () => begin(none, WAITS));
  await Promise.all(held.map(({ first }) => first));
  const withRuns = await residentMib();
  for (const run of held) run.cancel('measured');
  await none.close();
  const each = (withRuns - before) / RUNS_HELD;
  const tenth = (mib: number) => Math.round(mib * 10) / 10;
  return { base, warm_sandbox: tenth(withWarm - base), run: tenth(each), runs_held: RUNS_HELD };
}

const COMPUTES = "export const meta = { name: 'Bench' }; log('first'); for (;;);";
const FLOODS = `export const meta = { name: 'Bench' }; log('first');
  for (;;) { agent('x'.repeat(1000)).catch(() => 0); graph('none').catch(() => 0); tool('no.no').catch(() => 0); log('y'.repeat(2000)); await null; }`;
const LOOK_MS = 1_000;

/** How late the host thread's turns are while a Graph does this. */
async function measureBeside(source: string | null): Promise<EngineFigures['beside_ms']['quiet']> {
  const engine = createEngine({ ports, provider });
  await engine.warmedUp();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const run = source === null ? null : begin(engine, source);
  delay.enable();
  await run?.first;
  await new Promise<void>((done) => systemClock.after(LOOK_MS, done));
  delay.disable();
  run?.cancel('measured');
  await engine.close();
  const ms = (ns: number) => Math.round(Math.max(0, ns / 1e6 - 1) * 10) / 10;
  return { p99: ms(delay.percentile(99)), max: ms(delay.max) };
}

function threads(): number | null {
  return process.platform === 'linux' ? readdirSync('/proc/self/task').length : null;
}

async function measureRow({ row }: FiguresTask): Promise<EngineFigures['row']> {
  const engine = createEngine({ ports, provider, keepWarm: false });
  const look = async () => ({
    rss: await residentMib(),
    resources: process.getActiveResourcesInfo().length,
    threads: threads(),
  });
  for (let run = 0; run < ROW_WARM_UP; run += 1) await begin(engine, ASKS).done;
  const before = await look();
  for (let run = 0; run < row; run += 1) await begin(engine, ASKS).done;
  await engine.close();
  const after = await look();
  return {
    runs: row,
    rss_mib: { before: before.rss, after: after.rss },
    resources: { before: before.resources, after: after.resources },
    threads:
      before.threads === null || after.threads === null ? null : { before: before.threads, after: after.threads },
    sandboxes_left: engine.livingSandboxes(),
  };
}

// A sandbox that is kept warm does not keep a process alive.
process.channel?.ref();
const task = JSON.parse(process.argv[2] ?? '{}') as FiguresTask;
// Memory first: nothing else has been there yet.
const memory_mib = await measureMemory();
const start_us = await measureStarts(task);
const row = await measureRow(task);
const quiet = await measureBeside(null);
const computing = await measureBeside(COMPUTES);
const flooding = await measureBeside(FLOODS);
announceWorker({ start_us, memory_mib, row, beside_ms: { quiet, computing, flooding } } satisfies EngineFigures);
