/** A day in a sentence for each mode, and how it was found. */
import { WAITING } from '../asking.ts';
import type { PredictResult } from '../result-format.ts';
import { duration, grouped } from '../text-table.ts';
import type { Day } from './result.ts';

/** What clients do that nobody told anything. */
const POLLING = 'every 5 s';
const MEGABYTE = 1_000_000;

export function predictLines(result: PredictResult): string[] {
  const { days, run_s, runs, seed, rtt_ms, modes } = result;
  const [first, ...others] = days;
  const told = others.length === 0 ? [first!] : others;
  const each = run_s === null ? 'as long as in the post (median 60 s)' : `${run_s} s long`;
  return [
    ...told.map((day) => sentence(day, result)),
    '',
    `From ${runs} simulated runs of each mode (${modes.map(({ name }) => name).join(', ')}; seed ${seed}), ${each}, apart from each other, with the`,
    `production code of both sides: each message between desktop and relay takes ${rtt_ms / 2} ms, give or take 30 %. The client has`,
    'no network of its own. The day has the price of an hour with runs while they go on, and of an hour without otherwise.',
  ];
}

function sentence(day: Day, { runs_per_day, rtt_ms, days }: PredictResult): string {
  const { mode, saved_s_per_day: saved } = day;
  const first = days[0]!;
  const isFirst = day === first;
  const gain = isFirst
    ? `each run waits ${duration(day.pickup_mean_s * 1_000)} before it begins`
    : `runs end ${amount(saved.mean)} a day ${saved.mean < 0 ? 'later' : 'sooner'} than with ${first.mode} [${interval(saved)}]`;
  const beside = isFirst ? '' : ` (${first.mode}: ${traffic(first)})`;
  const tokens = (strategy: string) =>
    grouped(day.asking.find((each) => each.strategy === strategy)?.tokens_per_day ?? 0);
  return `With ${mode}, ${grouped(runs_per_day)} runs a day and a round trip of ${rtt_ms} ms, ${gain}, the desktop sends ${traffic(day)}${beside}, and asking for results costs the client about ${tokens(WAITING.name)} tokens a day with ${WAITING.name.replace(' ', ': ')}, or ${tokens(POLLING)} when it polls ${POLLING}.`;
}

function traffic({ requests_per_day, bytes_per_day }: Day): string {
  return `${grouped(requests_per_day)} requests and ${(bytes_per_day / MEGABYTE).toFixed(1)} MB`;
}

function interval({ low, high, mean }: Day['saved_s_per_day']): string {
  const [from, to] = mean < 0 ? [-high, -low] : [low, high];
  return `${amount(from)} to ${amount(to)}`;
}

function amount(seconds: number): string {
  return `${grouped(Math.abs(seconds))} s`;
}
