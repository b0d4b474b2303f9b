/** The published tables for a terminal. */
import type { PublishedResult, PublishedRow, PublishedTable } from '../result-format.ts';
import { grouped, shown, textTable } from '../text-table.ts';
import { NETWORK_SLACK_S } from './row.ts';
import { ERRORS } from './tolerance.ts';

export function publishedLines(result: PublishedResult): string[] {
  const { tables, modes, conditions, wall_clock, runs, seed, verdict } = result;
  const rows = tables.flatMap((table) => table.rows);
  const judged = rows.filter((row) => row.verdict !== null);
  const failed = judged.filter((row) => row.verdict === 'FAIL');
  const { simulated_runs, duration_ms, simulated_runs_per_s, threads } = wall_clock;
  return [
    `The tables of the post, by the production relay and desktop in virtual time (${runs} runs, seed ${seed}).`,
    '',
    ...statistics(conditions),
    '',
    ...tables.flatMap((table) => [
      ...tableLines(
        table,
        modes.map(({ name }) => name),
      ),
      '',
    ]),
    `${judged.length - failed.length} of ${judged.length} published figures: PASS${failed.length === 0 ? '' : `; ${failed.length}: FAIL`}. Verdict: ${verdict}.`,
    `${grouped(simulated_runs)} simulated runs in ${(duration_ms / 1_000).toFixed(1)} s on ${threads} threads: ${grouped(simulated_runs_per_s)} runs/s.`,
  ];
}

function statistics({ way_ms, disk_ms }: PublishedResult['conditions']): string[] {
  return [
    `"accepted" is where a published figure may be. It follows from both sample sizes: ${ERRORS} standard errors of the`,
    'difference between two samples of one system, so a right figure fails by chance once in 16,000 rows (with 100 runs',
    'once in 400: run times are skewed, and a small sample misses the longest).',
    '  mean       our mean ± 4 · sd · √(1/n ours + 1/n theirs)',
    '  percentile the percentiles of our sample at p ± 4 · √(p(1-p)) · √(1/n ours + 1/n theirs); no distribution assumed',
    '  greatest   our greatest ± its distance to what n draws almost surely exceed',
    '  count      binomial, as a mean',
    '  one value  against the logarithms of ours (a sum of run times), or what ours span and 10.4/n of it more (a phase)',
    `To that comes half a unit of the last published digit, and where the network counts ${NETWORK_SLACK_S} s a run:`,
    `ours has a line of ${way_ms} ms one way and disks of ${disk_ms} ms, the post's has none.`,
    'A percentile lies between the two nearest ranks (type 7 of Hyndman and Fan).',
  ];
}

function tableLines({ title, n, rows, notes }: PublishedTable, modes: readonly string[]): string[] {
  const sizes = n.ours.every((size) => size === n.ours[0]) ? String(n.ours[0]) : n.ours.join(', ');
  const heading = ['', 'published', modes[0]!, 'accepted', '', ...modes.slice(1)];
  return [
    `${title}   [n = ${n.published ?? 'not said'} published, ${sizes} ours]`,
    ...textTable([heading, ...rows.map(cellsOf)]),
    ...notes.map((note) => `  ${note}`),
  ];
}

function cellsOf(row: PublishedRow): string[] {
  const [judged, ...others] = row.ours.map((value) => cellOf(value, row));
  return [`  ${row.name}`, cellOf(row.published, row), judged ?? '', acceptedOf(row), row.verdict ?? '', ...others];
}

function cellOf(value: number | string | null, { unit, digits }: PublishedRow): string {
  if (value === null) return '—';
  if (typeof value === 'string') return value;
  const isSeconds = unit === 's';
  return `${shown(value, digits)}${isSeconds ? ' s' : ''}`;
}

function acceptedOf({ accepted, rule, digits }: PublishedRow): string {
  if (rule === 'exact') return 'equal';
  if (accepted === null) return '';
  const { high } = accepted;
  // Nothing here is below zero, whatever a formula allows.
  const low = accepted.low === null ? null : Math.max(0, accepted.low);
  if (low === null) return `≤ ${high?.toFixed(digits)}`;
  return high === null ? `≥ ${low.toFixed(digits)}` : `${low.toFixed(digits)} – ${high.toFixed(digits)}`;
}
