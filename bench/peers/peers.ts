/**
 * The same pickup, round trip and throughput on ours and on systems that a user would pick instead.
 *
 * Owns who takes part and that everything that was started is stopped. What is missing here is named; ours and the
 * floor are always measured.
 */
import type { ModeName } from '../../desktop-agent/modes.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { startFloor } from '../pickup/floor.ts';
import { OUR_NAME, startRelay } from '../pickup/relay.ts';
import type { Subject } from '../pickup/subject.ts';
import { surroundings } from '../provenance.ts';
import type { PeersResult } from '../result-format.ts';
import { CANDIDATES, prepare } from './candidates.ts';
import { MissingError } from './missing.ts';
import { reportOf } from './report.ts';
import type { LeftOut } from './result.ts';
import { AT_ONCE, measureRounds, nameOf, type RoundPlan } from './rounds.ts';

export const OUR_MODES = ['long-poll', 'websocket'] as const satisfies readonly ModeName[];

export interface PeersOptions extends RoundPlan {
  /** Names of {@link CANDIDATES}; all of them when left out. Ours and the floor always take part. */
  readonly only?: readonly string[];
  readonly signal: AbortSignal;
  /** The command that measures the same again. */
  readonly command: string;
  /** What is done now, for a person who waits. */
  onProgress(line: string): void;
}

export async function measurePeers(options: PeersOptions): Promise<PeersResult> {
  const { signal, onProgress } = options;
  const began = { at: systemClock.now(), monotonic: systemClock.monotonic() };
  const around = await surroundings();
  const subjects: Subject[] = [];
  const missing: LeftOut[] = [];
  const broken: LeftOut[] = [];
  try {
    onProgress('starting the floor');
    const floor = await startFloor();
    subjects.push(floor);
    for (const mode of OUR_MODES) {
      signal.throwIfAborted();
      onProgress(`starting ${OUR_NAME} (${mode})`);
      subjects.push(await startRelay(mode, AT_ONCE));
    }
    await startPeers(options, { subjects, missing, broken });
    const measured = await measureRounds(subjects, options, {
      signal,
      onStep: ({ round, subject }) =>
        onProgress(`${round === 0 ? 'warming up' : `round ${round} of ${options.rounds}`}: ${nameOf(subject)}`),
    });
    const floorBroken = measured.measured.find(({ subject }) => subject === floor)?.broken;
    if (floorBroken) throw new Error(`The floor broke, and without it no figure can be compared: ${floorBroken}`);
    const { command } = options;
    return await reportOf(measured, { plan: options, floor, missing, broken, surroundings: around, command, began });
  } finally {
    onProgress('stopping');
    for (const subject of subjects) await subject.stop();
  }
}

async function startPeers(
  { only, signal, onProgress }: PeersOptions,
  found: { subjects: Subject[]; missing: LeftOut[]; broken: LeftOut[] },
): Promise<void> {
  for (const candidate of CANDIDATES.filter(({ name }) => only?.includes(name) ?? true)) {
    for (const setting of candidate.settings) {
      signal.throwIfAborted();
      onProgress(`starting ${candidate.name} (${setting.name})`);
      try {
        found.subjects.push(await prepare(candidate, setting, AT_ONCE));
      } catch (error) {
        const left = { name: candidate.name, setting: setting.name, reason: (error as Error).message };
        if (error instanceof MissingError) found.missing.push({ ...left, remedy: error.remedy });
        else found.broken.push({ ...left, remedy: null });
      }
    }
  }
}
