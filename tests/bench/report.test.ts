/** The report's figures and tables: that they are what was measured. How the page looks is another test's business. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { readFigures } from '../../bench/published/figures.ts';
import { measurePublished } from '../../bench/published/published.ts';
import { frontier } from '../../bench/report/figures/asking.ts';
import { runSources } from '../../bench/report/gather.ts';
import { PROVENANCE } from '../../bench/report/html.ts';
import { makeReport } from '../../bench/report/report.ts';
import { linear, logarithmic } from '../../bench/report/scale.ts';
import {
  type BenchResult,
  type CompareResult,
  pickupResultSchema,
  reportResultSchema,
} from '../../bench/result-format.ts';
import { percentile, sorted } from '../../bench/statistics.ts';
import { duration } from '../../bench/text-table.ts';
import { expectProcesses, launch, tempFolder } from '../process/support.ts';
import { GIVEN, SMALL } from './small-report.ts';

expectProcesses(t);

const SOURCES = await runSources(SMALL);
const REPORT = await makeReport(SOURCES, GIVEN);

function timeless(html: string): string {
  const [begin, end] = [html.indexOf(PROVENANCE.begin), html.indexOf(PROVENANCE.end)];
  t.ok(begin > 0 && end > begin, 'the part that may differ is marked');
  return html.slice(0, begin) + html.slice(end);
}

t.test('the same seed gives the same page byte for byte, but for where it was made', async (t) => {
  const again = (await makeReport(await runSources({ ...SMALL, threads: 2 }), GIVEN)).html;
  t.equal(timeless(again), timeless(REPORT.html));
  const dates = /\d{4}-\d\d-\d\dT/;
  t.notMatch(timeless(again), dates);
  t.match(again, dates);
});

t.test('it has each figure once, each with its command, seed and table', async (t) => {
  const { figures } = REPORT.result;
  t.same(
    figures.map(({ id }) => id),
    ['pickup-1', 'fanout-1', 'asking-1', 'price-1', 'faults-1', 'sim-1'],
  );
  for (const { command, seed, head, rows, id } of figures) {
    t.match(command, /^npm run bench -- .* --seed 3/, id);
    t.equal(seed, SMALL.seed);
    t.ok(rows.length > 0 && rows.every((row) => row.length === head.length), `${id}: a cell for each column`);
    t.notMatch(JSON.stringify(rows), /NaN|undefined|Infinity|null/);
  }
  t.notMatch(REPORT.html, /NaN|undefined|Infinity/);
  t.same(REPORT.result.absent, []);
});

function compared(index: number): CompareResult {
  return SOURCES[index]!.result as CompareResult;
}

function rowsOf(id: string): Map<string, readonly string[]> {
  const { rows } = REPORT.result.figures.find((figure) => figure.id === id)!;
  return new Map(rows.map(([name, ...cells]) => [name!, cells]));
}

t.test('the tables say what was measured', async (t) => {
  const alone = compared(0);
  for (const { mode, workload, samples, asking } of alone.cells) {
    if (workload === 'pickup') {
      const pickups = sorted(samples.pickup!.map((value) => value!));
      t.equal(rowsOf('pickup-1').get(mode)![3], duration(percentile(pickups, 0.5)), `${mode}: the median`);
      t.equal(rowsOf('pickup-1').get(mode)!.at(-1), duration(pickups.at(-1)!), `${mode}: the greatest`);
    } else if (mode === 'long-poll') {
      for (const [index, { strategy, calls }] of asking.entries()) {
        t.equal(rowsOf('asking-1').get(`${index + 1} ${strategy}, ${mode}`)![0], calls.mean.toFixed(1));
      }
    }
  }
  const requests = rowsOf('price-1').get('requests an hour, without work')!;
  t.same(
    requests.map(Number),
    alone.idle.map(({ price }) => Math.round(price.requests_per_hour)),
  );
  const [round] = compared(1).cells.filter(({ mode, workload }) => mode === 'long-poll' && workload === 'fanout-5');
  const last = Math.max(...round!.first_round.map(({ known_s }) => known_s));
  t.equal(rowsOf('fanout-1').get('5 at once, 1 slot, long-poll')![1], `${last.toFixed(1)} s`);
  for (const { fault, mode, ends } of compared(2).cells) {
    t.equal(rowsOf('faults-1').get(`${fault}, ${mode}`)![1], String(ends.completed));
  }
  const sim = SOURCES[3]!.result;
  t.ok(sim.kind === 'sim' && Object.entries(sim.faults).every(([name, n]) => rowsOf('sim-1').get(name)![0] === `${n}`));
});

t.test('with more slots the same runs are done, so that they can be compared', async (t) => {
  const lengths = (workload: string) =>
    compared(1)
      .cells.find((cell) => cell.mode === 'long-poll' && cell.workload === workload)!
      .first_round.map(({ started_s, ended_s }) => (ended_s! - started_s!).toFixed(2));
  t.same(lengths('fanout-5-slots-2'), lengths('fanout-5'));
  t.same(lengths('fanout-5-slots-5'), lengths('fanout-5'));
});

t.test('from files: what they hold is drawn, and what they do not is named with its command', async (t) => {
  const folder = await tempFolder(t);
  const [file, out] = [join(folder, 'faults.json'), join(folder, 'page.html')];
  const troubled: BenchResult = compared(2);
  await writeFile(file, JSON.stringify(troubled));
  const running = launch(t, ['bench', 'report', '--in', file, '--out', out, '--json']);
  const { code } = await running.ended;
  t.equal(code, 0, running.stderr);
  const report = reportResultSchema.parse(JSON.parse(running.stdout));
  t.same(
    report.figures.map(({ id }) => id),
    ['price-1', 'faults-1'],
  );
  t.equal(report.seed, SMALL.seed);
  t.match(
    report.absent.join('\n'),
    /several runs at once \(npm run bench -- compare --workloads fanout-5 --out FILE\)/,
  );
  const html = await readFile(out, 'utf8');
  t.ok(html.includes('Not in the files that were given: how long runs wait'));

  await writeFile(file, JSON.stringify({ ...troubled, kind: 'peers' }));
  const refused = launch(t, ['bench', 'report', '--in', file, '--out', out]);
  t.equal((await refused.ended).code, 2);
  t.match(refused.stderr, /cannot be drawn: it is no result of `compare` or .*\[baseline-invalid\]/);
});

t.test('what was measured in real time, and the tables of the post, are drawn as well', async (t) => {
  const figures = readFigures(null);
  const published = await measurePublished({ seed: 1, runs: 10, threads: 1, figures, command: 'published' });
  const { made } = published;
  const summary = { n: 4, mean: 2_500, sd: 1_290, min: 1_000, median: 2_500, p95: 3_850, p99: 3_970, max: 4_000 };
  const sample = [4_000, 1_000, 3_000, 2_000];
  const pickup = pickupResultSchema.parse({
    ...{ format: published.format, format_version: published.format_version, kind: 'pickup', made },
    ...{ command: 'pickup', seed: 1, mode: 'long-poll', rounds: 1, runs_per_round: 4, pickup_to_floor: 1 },
    ...{ floor_us: summary, ticket_us: summary, pickup_us: summary },
    samples_us: { floor: sample, ticket: sample, pickup: sample },
    surroundings: { load_before: 1, temporary_files_in_memory: false },
    wall_clock: { started_at: '2026-01-01T00:00:00.000Z', duration_ms: 1 },
  });
  const { result, html } = await makeReport([{ result: published }, { result: pickup }], GIVEN);
  t.same(
    result.figures.map(({ id, command }) => `${id} ${command}`),
    ['pickup-1 published', 'pickup-2 pickup'],
  );
  const [post, real] = result.figures;
  t.same(post!.rows[0]!.slice(0, 2), ['plain-20s', 'percentiles']);
  t.equal(post!.rows[0]![4], duration(1_000 * published.pickup_percentiles_s[0]![50]!));
  t.same(real!.rows[2]!.slice(0, 5), ['call → desktop starts', '4', '1.1 ms', '1.8 ms', '2.5 ms']);
  t.notMatch(html, /NaN|undefined/);
});

t.test('axes hold all values, between round numbers', async (t) => {
  const range = { from: 0, to: 100 };
  const whole = linear(20.04, range);
  t.same(whole.ticks, [0, 5, 10, 15, 20, 25]);
  t.equal(whole.at(12.5), 50);
  t.same(linear(0.3, range).ticks, [0, 0.1, 0.2, 0.3]);
  const log = logarithmic({ from: 38, to: 20_000 }, range);
  t.same(log.ticks, [100, 1_000, 10_000]);
  t.equal(log.at(20), 0);
  t.equal(log.at(20_000), 100);
  t.equal(log.at(0), 0, 'what is less than the least is put there');
  t.same(logarithmic({ from: 1, to: 49 }, range).ticks, [1, 2, 5, 10, 20, 50]);
});

t.test('nothing beats a way of the frontier in both', async (t) => {
  const summary = (mean: number) => ({ n: 1, mean, sd: 0, min: mean, median: mean, p95: mean, p99: mean, max: mean });
  const way = (calls: number, late: number) => ({ calls: summary(calls), late_ms: summary(late) });
  const ways = [way(47, 1_000), way(2, 9), way(4, 15_000), way(1.5, 30_000), way(2, 9_000)];
  t.same(
    frontier(ways).map(({ calls, late_ms }) => [calls.mean, late_ms.mean]),
    [
      [1.5, 30_000],
      [2, 9],
    ],
  );
});
