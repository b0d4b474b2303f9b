/**
 * What has to be measured for the published tables, in one mode.
 *
 * Owns the sizes of the samples. They follow from one number: as many runs as the post's largest tables have.
 */
import { STRATEGIES } from '../asking.ts';
import none from '../faults/none.ts';
import type { BenchMode } from '../modes/mode.ts';
import type { ResultOf } from '../virtual/experiments.ts';
import type { Plan } from '../virtual/plan.ts';
import type { RunRecord } from '../virtual/rounds.ts';
import cancel from '../workloads/cancel.ts';
import { fanout } from '../workloads/fanout.ts';
import pickup from '../workloads/pickup.ts';
import type { Workload } from '../workloads/workload.ts';
import type { PublishedFigures } from './figures.ts';

/** Runs at once on the desktop: the post's, and what an owner may set. */
export const SLOTS = [1, 2, 5] as const;

export interface Fanout {
  readonly count: number;
  readonly slots: number;
  readonly rounds: number;
  readonly records: RunRecord[];
}

export interface ModeData {
  readonly mode: BenchMode;
  readonly pickup: RunRecord[];
  readonly asking: RunRecord[];
  readonly cancel: RunRecord[];
  /** Of two and more at once; one at once is `pickup`. */
  readonly fanouts: readonly Fanout[];
  readonly offline: ResultOf<'offline'>;
  readonly newKeys: readonly ResultOf<'lost-replies'>[];
  readonly sameKey: readonly ResultOf<'lost-replies'>[];
  readonly outboxOn: ResultOf<'lost-completion'>;
  readonly outboxOff: ResultOf<'lost-completion'>;
  readonly ascii: ResultOf<'result-bound'>;
  readonly japanese: ResultOf<'result-bound'>;
  readonly stranger: string | null;
}

export interface MeasureGiven {
  readonly seed: number;
  readonly mode: BenchMode;
  /** Runs of the largest tables. */
  readonly runs: number;
  readonly figures: PublishedFigures;
}

/** A quiet client: what is measured does not depend on who asks. */
const UNWATCHED: Pick<Workload, 'asking'> = { asking: [] };

const LOST_REPLIES_PARTS = { least: 3, per: 200 } as const;
/** Each round has five runs, and one draw is what they are compared with. */
const OFFLINE_ROUNDS = { share: 0.05, least: 20, perPart: 25 } as const;

/** Adds the work of a mode to the plan. Returns what it came to, once the plan has run. */
export function planMode(plan: Plan, given: MeasureGiven): () => ModeData {
  const { seed, mode, runs, figures } = given;
  const one = { seed, mode };
  const quiet = { ...one, fault: none, weighsAnswers: false };
  const stop_s = figures.model.stop_delay_s_fitted;
  const rounds = (workload: Workload, count: number) =>
    plan.addRounds({ ...quiet, workload: { ...workload, ...UNWATCHED, stop_s }, rounds: share(count) });
  const asked = { ...pickup, name: 'asking', asking: [...STRATEGIES] };

  const pickups = rounds(pickup, runs);
  const asking = plan.addRounds({ ...quiet, workload: asked, rounds: runs });
  const cancels = rounds(cancel as Workload, runs);
  const fanouts = planFanouts(given, rounds);
  const offline = planOffline(plan, {
    ...one,
    rounds: Math.max(OFFLINE_ROUNDS.least, share(runs * OFFLINE_ROUNDS.share)),
  });
  const repetitions = Math.max(LOST_REPLIES_PARTS.least, Math.round(runs / LOST_REPLIES_PARTS.per));
  const lost = (newKeys: boolean) =>
    Array.from({ length: repetitions }, (_, repetition) => {
      const { runs: perRepetition, reply_loss: loss } = figures.idempotency;
      return plan.add('lost-replies', { ...one, repetition, newKeys, runs: perRepetition, loss });
    });
  const [newKeys, sameKey] = [lost(true), lost(false)];
  const outboxOn = plan.add('lost-completion', { ...one, outbox: true });
  const outboxOff = plan.add('lost-completion', { ...one, outbox: false });
  const ascii = plan.add('result-bound', { ...one, character: 'a' });
  const japanese = plan.add('result-bound', { ...one, character: 'あ' });
  const stranger = plan.add('stranger', one);

  return () => ({
    mode,
    pickup: pickups(),
    asking: asking(),
    cancel: cancels(),
    fanouts: fanouts(),
    offline: offline(),
    newKeys: newKeys.map((result) => result()),
    sameKey: sameKey.map((result) => result()),
    outboxOn: outboxOn(),
    outboxOff: outboxOff(),
    ascii: ascii(),
    japanese: japanese(),
    stranger: stranger(),
  });
}

/**
 * Rounds of several runs at once, as shares of all runs. With one slot there are enough for a 95th percentile that is
 * bounded on both sides (see `acceptedPercentile`, with 500 published rounds): 800 of 2,000. Equal in all modes, since
 * what stands beside each other gets compared.
 */
const FANOUT_SHARES = { oneSlot: 0.4, moreSlots: 0.06 } as const;

function planFanouts(
  { figures, runs }: MeasureGiven,
  plan: (workload: Workload, rounds: number) => () => RunRecord[],
): () => Fanout[] {
  const sizes = figures.fanout.map(({ queued_at_once }) => queued_at_once);
  const parts = SLOTS.flatMap((slots) =>
    sizes
      .filter((count) => count > 1)
      .map((count) => {
        const rounds = share(runs * (slots === 1 ? FANOUT_SHARES.oneSlot : FANOUT_SHARES.moreSlots));
        return { count, slots, rounds, records: plan(fanout(count, slots), rounds) };
      }),
  );
  return () => parts.map((part) => ({ ...part, records: part.records() }));
}

function planOffline(
  plan: Plan,
  { seed, mode, rounds }: { seed: number; mode: BenchMode; rounds: number },
): () => ResultOf<'offline'> {
  const parts: (() => ResultOf<'offline'>)[] = [];
  for (let part = 0; part * OFFLINE_ROUNDS.perPart < rounds; part++) {
    const left = rounds - part * OFFLINE_ROUNDS.perPart;
    parts.push(plan.add('offline', { seed, mode, part, rounds: Math.min(OFFLINE_ROUNDS.perPart, left) }));
  }
  return () => parts.flatMap((part) => part());
}

function share(count: number): number {
  return Math.max(1, Math.round(count));
}
