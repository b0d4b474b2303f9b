/** Experiments about what comes back from a desktop: a completion that is lost once, and the longest result. */
import type { DesktopTables } from '../../../desktop-agent/rows.ts';
import type { StateStore } from '../../../protocol/ports.ts';
import { hasEnded, read, untilEnded } from '../ask.ts';
import { type BenchWorld, type BenchWorldOptions, createBenchWorld } from '../bench-world.ts';
import { queue } from '../rounds.ts';
import { sleepFor } from '../sleep.ts';

export interface LostCompletion {
  /** What its agent is told ten minutes after the end of the run. */
  readonly status: string;
  /** Null: the relay does not have it by then. */
  readonly deliveredAfterStartMs: number | null;
}

/** Longer than a poll and shorter than two: the figure of the post follows from that. */
const RUN_MS = 30_000;
/** The line is down around the end of the run, longer than one post takes. */
const DOWN_MS = 200;
const LATER_MS = 600_000;

export async function loseCompletion(
  options: BenchWorldOptions,
  { outbox }: { outbox: boolean },
): Promise<LostCompletion> {
  const world = await createBenchWorld({ ...options, ...(!outbox && { desktopStore: withoutOutbox }) });
  const { clock, sky, runs } = world;
  const play = async (): Promise<LostCompletion> => {
    const commandId = await queue(world, { key: 'the completion is lost', order: { run_ms: RUN_MS } });
    let run = await read(world, commandId);
    while (run.status === 'queued') run = await read(world, commandId, 50_000);
    const { startedAt } = await startOf(world, commandId);
    await sleepFor(clock, startedAt + RUN_MS - DOWN_MS / 2 - clock.monotonic());
    const up = sky.begin({ loseRequest: 1, silent: 0 });
    await sleepFor(clock, DOWN_MS);
    up();
    let deliveredAt: number | null = null;
    void untilEnded(world, commandId).then(() => {
      deliveredAt = clock.monotonic();
    });
    await sleepFor(clock, LATER_MS);
    const last = await read(world, commandId);
    const isDelivered = deliveredAt !== null && hasEnded(last);
    const ranAt = runs.times.get(commandId)!.startedAt;
    return { status: last.status, deliveredAfterStartMs: isDelivered ? deliveredAt! - ranAt : null };
  };
  return clock.settle(play());
}

/** The relay says `running` a moment before the engine has begun. */
async function startOf({ clock, runs }: BenchWorld, commandId: string) {
  for (;;) {
    const times = runs.times.get(commandId);
    if (times !== undefined) return times;
    await sleepFor(clock, 1);
  }
}

/** A desktop that keeps its results in memory only. */
function withoutOutbox(store: StateStore<DesktopTables>): StateStore<DesktopTables> {
  return {
    rows: (table) => store.rows(table),
    commit: (changes) => store.commit(changes.filter((change) => !('table' in change && change.table === 'outbox'))),
    synced: () => store.synced(),
    readFrozen: (id) => store.readFrozen(id),
    status: () => store.status(),
    close: () => store.close(),
  };
}

export interface ResultBound {
  /** Of the longest result text that its agent still gets. */
  readonly chars: number;
  readonly bytes: number;
}

/** Run after run, by halves. */
export async function findResultBound(world: BenchWorld, character: string): Promise<ResultBound> {
  let [fits, tooLong] = [0, 200_000];
  let bytes = 0;
  const resultOf = async (chars: number): Promise<string | null> => {
    const order = { run_ms: 1_000, text: { of: character, chars } };
    const { result } = await untilEnded(world, await queue(world, { key: `result of ${chars}`, order }));
    return typeof result === 'string' ? result : null;
  };
  const search = async () => {
    while (tooLong - fits > 1) {
      const chars = Math.floor((fits + tooLong) / 2);
      const result = await resultOf(chars);
      if (result === null) tooLong = chars;
      else [fits, bytes] = [result.length, Buffer.byteLength(result)];
    }
  };
  await world.clock.settle(search());
  return { chars: fits, bytes };
}
