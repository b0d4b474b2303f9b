/** `bench published`: measures, and puts the result together. */

import { measure } from '../measured.ts';
import longPoll from '../modes/long-poll.ts';
import plain20s from '../modes/plain-20s.ts';
import websocket from '../modes/websocket.ts';
import { provenance } from '../provenance.ts';
import { FORMAT, FORMAT_VERSION, type PublishedResult } from '../result-format.ts';
import { percentile, sorted } from '../statistics.ts';
import { barsOf } from '../virtual/bars.ts';
import { CONDITIONS } from '../virtual/bench-world.ts';
import { Plan } from '../virtual/plan.ts';
import type { PublishedFigures } from './figures.ts';
import { type ModeData, planMode } from './measure.ts';
import { pickupsS, publishedTables } from './tables.ts';

export interface PublishedOptions {
  readonly seed: number;
  /** Of the largest tables; the others follow. */
  readonly runs: number;
  readonly figures: PublishedFigures;
  /** The command that makes this result again. */
  readonly command: string;
  readonly threads?: number | undefined;
}

/** The first one is the post's. */
const MODES = [plain20s, longPoll, websocket];

/** What was measured, before anything is judged. */
export interface Measured {
  readonly data: readonly ModeData[];
  readonly wallClock: PublishedResult['wall_clock'];
}

export async function measureModes({ seed, runs, figures, threads }: PublishedOptions): Promise<Measured> {
  const plan = new Plan();
  const parts = MODES.map((mode) => planMode(plan, { seed, mode, runs, figures }));
  let data: ModeData[] = [];
  const countRuns = () => {
    data = parts.map((part) => part());
    return data.reduce((sum, each) => sum + runsIn(each), 0);
  };
  const wallClock = await measure(plan, { label: 'published', threads, countRuns });
  return { data, wallClock };
}

/** Holds what was measured against the figures. */
export async function judge({ data, wallClock }: Measured, options: PublishedOptions): Promise<PublishedResult> {
  const { seed, runs, figures, command } = options;
  const tables = publishedTables(data, figures);
  const failed = tables.some(({ rows }) => rows.some(({ verdict }) => verdict === 'FAIL'));
  return {
    format: FORMAT,
    format_version: FORMAT_VERSION,
    kind: 'published',
    command,
    seed,
    runs,
    made: await provenance(),
    conditions: CONDITIONS,
    modes: [...MODES],
    verdict: failed ? 'FAIL' : 'PASS',
    tables,
    pickup_percentiles_s: data.map(percentilesOf),
    fanout_bars: data.map(barsOfWidest),
    wall_clock: wallClock,
  };
}

export async function measurePublished(options: PublishedOptions): Promise<PublishedResult> {
  return judge(await measureModes(options), options);
}

function runsIn({ pickup, asking, cancel, fanouts, offline }: ModeData): number {
  const inFanouts = fanouts.reduce((sum, { records }) => sum + records.length, 0);
  const away = offline.reduce((sum, { executed }) => sum + executed, 0);
  return pickup.length + asking.length + cancel.length + inFanouts + away;
}

function percentilesOf({ pickup }: ModeData): number[] {
  const ascending = sorted(pickupsS(pickup));
  return Array.from({ length: 101 }, (_, p) => toMs(percentile(ascending, p / 100)));
}

function barsOfWidest({ fanouts }: ModeData): PublishedResult['fanout_bars'][number] {
  return barsOf(fanouts.filter(({ slots }) => slots === 1).at(-1)?.records ?? []);
}

/** Seconds, to the millisecond. */
function toMs(seconds: number): number {
  return Math.round(seconds * 1_000) / 1_000;
}
