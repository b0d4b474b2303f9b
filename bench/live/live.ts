/**
 * `bench live`: the same workload over real sockets and in virtual time, in one go.
 *
 * Owns the order, and how the parts become one result: the real side, its virtual twins with the line and the disk that
 * the real side was found to have, and a relay that only holds.
 */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { constants, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { measure } from '../measured.ts';
import type { BenchMode } from '../modes/mode.ts';
import { createProgress } from '../progress.ts';
import { provenance } from '../provenance.ts';
import { ERRORS } from '../published/tolerance.ts';
import { FORMAT, FORMAT_VERSION, type LiveResult } from '../result-format.ts';
import { medianOf } from '../statistics.ts';
import { Plan } from '../virtual/plan.ts';
import type { RunRecord } from '../virtual/rounds.ts';
import { runsOf, type Workload } from '../workloads/workload.ts';
import { judge, verdictOf } from './agreement.ts';
import { APPEND_BYTES } from './floor.ts';
import { measureHeld } from './held.ts';
import { limitFor, openFilesLimit, refuseTooMany } from './open-files.ts';
import { refuseUnplayable } from './play.ts';
import { piecesOf, playReal, type RealSide } from './real-side.ts';
import { startLiveRelay } from './relay.ts';
import type { HeldLevel, LiveCell } from './result.ts';
import type { Scale } from './scale.ts';
import { floorFound, layersFound, machineFound, rounded } from './sums.ts';
import { type Conditions, planTwins, samplesOf } from './twin.ts';

export interface LiveOptions {
  readonly seed: number;
  readonly modes: readonly BenchMode[];
  readonly workload: Workload;
  readonly scale: Scale;
  /** The command that makes a result like this again. */
  readonly command: string;
}

export async function measureLive(options: LiveOptions): Promise<LiveResult> {
  const { seed, modes, workload, scale, command } = options;
  refuseUnplayable(workload, { seed, rounds: scale.desktops });
  refuseTooMany(scale.desktops * modes.length, { workload, openFiles: openFilesLimit() });
  const [started, startedAt, loadBefore] = [systemClock.now(), systemClock.monotonic(), loadavg()[0]!];
  const directory = await mkdtemp(join(tmpdir(), 'graph-relay-live-'));
  const letGo = removeWhenStopped(directory);
  const progress = createProgress('live', piecesOf(options) + scale.held.length);
  let done = 0;
  const onDone = () => progress.done(++done);
  try {
    const real = await playReal({ ...options, directory: join(directory, 'modes'), onDone });
    const held = await holdMany(scale, { directory: join(directory, 'held'), onDone });
    progress.end();
    const conditions = conditionsOf(real);
    const { twins, wall_clock } = await playTwins(options, conditions);
    const cells = modes.map((mode, index) => cellOf(options, { mode, index, real, virtual: twins[index]! }));
    return rounded<LiveResult>({
      format: FORMAT,
      format_version: FORMAT_VERSION,
      kind: 'live',
      command,
      seed,
      runs: cells.reduce((sum, { runs }) => sum + runs, 0),
      made: await provenance(),
      conditions,
      modes: [...modes],
      quick: scale.quick,
      verdict: verdictOf(cells),
      workload,
      desktops: scale.desktops,
      floor: { append_bytes: APPEND_BYTES, alone: floorFound(real.layers.floor), beside: floorFound(real.beside) },
      layers: layersFound(real.layers),
      standard_errors: ERRORS,
      cells,
      held,
      load: { before: loadBefore, after: loadavg()[0]! },
      wall_clock: {
        ...wall_clock,
        started_at: new Date(started).toISOString(),
        duration_ms: Math.round(systemClock.monotonic() - startedAt),
      },
    });
  } finally {
    progress.end();
    letGo();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Whoever stops the bench finds nothing of it left. Its processes end when this one has. */
function removeWhenStopped(directory: string): () => void {
  const stopped = (signal: 'SIGINT' | 'SIGTERM') => {
    rmSync(directory, { recursive: true, force: true });
    process.exit(128 + constants.signals[signal]);
  };
  process.once('SIGINT', stopped).once('SIGTERM', stopped);
  return () => void process.off('SIGINT', stopped).off('SIGTERM', stopped);
}

/** Half an exchange is a way. */
function conditionsOf({ layers }: RealSide): Conditions {
  return rounded({ way_ms: medianOf(layers.floor.exchange) / 2, disk_ms: medianOf(layers.floor.append) });
}

async function playTwins({ seed, modes, workload, scale }: LiveOptions, conditions: Conditions) {
  const plan = new Plan();
  const rounds = scale.desktops;
  const parts = modes.map((mode) => planTwins(plan, { seed, mode, workload, rounds, conditions }));
  const runs = modes.length * rounds * runsOf(workload);
  const wall_clock = await measure(plan, { label: 'live, virtual', countRuns: () => runs });
  return { twins: parts.map((part) => part()), wall_clock };
}

function cellOf(
  { seed, workload, scale }: LiveOptions,
  given: { mode: BenchMode; index: number; real: RealSide; virtual: readonly RunRecord[] },
): LiveCell {
  const { mode, index, real, virtual } = given;
  const cell = {
    mode: mode.name,
    rounds: scale.desktops,
    runs: scale.desktops * runsOf(workload),
    // As it is written down, so that whoever judges again finds the same.
    machine: rounded(machineFound(mode, real)),
    samples: { virtual: samplesOf(virtual, workload), real: samplesOf(real.records[index]!, workload) },
  };
  return { ...cell, figures: judge(cell, { workload, seed }) };
}

const PROJECT = 'held';

/** A relay that has never done anything else. */
async function holdMany(
  { held: levels, watchMs }: Scale,
  { directory, onDone }: { directory: string; onDone: () => void },
): Promise<HeldLevel[]> {
  const openFiles = openFilesLimit();
  const most = Math.max(0, ...levels.filter((held) => limitFor(held, openFiles) === null));
  const desktops = Array.from({ length: most }, (_, index) => ({ kind: 'desktop' as const, name: `held-${index}` }));
  // Its project exists because somebody may use it.
  const owner = { kind: 'agent' as const, name: 'owner', projects: [PROJECT] };
  const relay = await startLiveRelay(directory, [...desktops, owner]);
  try {
    const tokens = relay.tokens.slice(0, most);
    return await measureHeld({ relay, project: PROJECT, tokens, levels, watchMs, openFiles, onLevel: onDone });
  } finally {
    await relay.stop();
  }
}
