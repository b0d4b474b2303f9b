import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createProgress } from '../../bench/progress.ts';
import { type PublishedFigures, readFigures } from '../../bench/published/figures.ts';
import { judge, measureModes, measurePublished } from '../../bench/published/published.ts';
import { publishedLines } from '../../bench/published/text.ts';
import { type PublishedResult, publishedResultSchema } from '../../bench/result-format.ts';
import { expectProcesses, run } from '../process/support.ts';

expectProcesses(t);

const SMALL = { seed: 1, runs: 100, threads: 2, command: 'a test' };
const FIGURES = readFigures(null);

/** Measured once: what is judged differently in these tests are the figures. */
const measured = measureModes({ ...SMALL, figures: FIGURES });

function failedRows({ tables }: PublishedResult): string[] {
  return tables.flatMap(({ name, rows }) =>
    rows.filter(({ verdict }) => verdict === 'FAIL').map((row) => `${name}: ${row.name}`),
  );
}

/** The figures with one of them changed. */
function falsified(change: (figures: Record<string, Record<string, unknown>>) => void): PublishedFigures {
  const figures = structuredClone(FIGURES);
  change(figures as unknown as Record<string, Record<string, unknown>>);
  return figures;
}

t.test('the published figures pass, each of them, in a result that has its form', async (t) => {
  const result = await judge(await measured, { ...SMALL, figures: FIGURES });
  t.same(failedRows(result), []);
  t.equal(result.verdict, 'PASS');
  t.same(publishedResultSchema.parse(JSON.parse(JSON.stringify(result))), result);
  const judged = result.tables.flatMap(({ rows }) => rows).filter(({ published }) => published !== null);
  t.ok(judged.length >= 60, `${judged.length} figures are judged`);
  t.ok(
    judged.every(({ verdict }) => verdict !== null),
    'no published figure goes without a verdict',
  );
  t.equal(result.pickup_percentiles_s.length, 3);
  t.ok(result.fanout_bars.every((bars) => bars.length === 5));
  const text = publishedLines(result).join('\n');
  for (const word of ['standard errors', 'PASS', 'plain-20s', 'long-poll', 'websocket', 'runs/s'])
    t.ok(text.includes(word), word);
  t.notMatch(text, /NaN|undefined|Infinity/);
});

t.test('the same seed gives the same JSON byte for byte, but for the wall clock', async (t) => {
  const json = async (seed: number, threads: number) =>
    JSON.stringify({
      ...(await measurePublished({ ...SMALL, seed, threads, runs: 10, figures: FIGURES })),
      wall_clock: null,
    });
  const first = await json(1, 1);
  t.equal(await json(1, 2), first);
  t.not(await json(2, 2), first);
});

t.test('a figure that is not true fails, and nothing else does', async (t) => {
  for (const [name, figures] of [
    ['pickup: mean', falsified(({ pickup }) => (pickup!.mean_s = 1.5))],
    ['cancel: already running', falsified(({ cancel }) => (cancel!.already_running = 300))],
    ['visibility: another agent is told', falsified(({ visibility }) => (visibility!.other_agent_reads_run = 'no'))],
    ['offline: back online: first start after', falsified(({ offline }) => (offline!.first_start_after_online_s = 90))],
  ] as const) {
    const result = await judge(await measured, { ...SMALL, figures });
    t.same(failedRows(result), [name]);
    t.equal(result.verdict, 'FAIL');
  }
});

t.test('the command ends with 1 on a figure that is not true, with 2 on an order that makes no sense', async (t) => {
  const folder = t.testdir({
    'false.json': JSON.stringify(falsified(({ pickup }) => (pickup!.mean_s = 1.5))),
    'short.json': '{"pickup":{}}',
  });
  const out = join(folder, 'result.json');
  const published = (...args: string[]) => run(t, ['bench', 'published', '--runs', '100', ...args]);
  const failed = await published('--json', '--figures', join(folder, 'false.json'), '--out', out);
  t.equal(failed.code, 1);
  const printed = publishedResultSchema.parse(JSON.parse(failed.stdout));
  t.same(failedRows(printed), ['pickup: mean']);
  t.same(JSON.parse(readFileSync(out, 'utf8')), printed);

  for (const [args, code] of [
    [['--figures', join(folder, 'short.json')], /\[file-invalid\]/],
    [['--figures', join(folder, 'none.json')], /\[file-unreadable\]/],
    [['--runs', '99'], /whole number from 100/],
    [['--seed', 'x'], /whole number from 0/],
  ] as const) {
    const refused = await published(...args);
    t.equal(refused.code, 2);
    t.match(refused.stderr, code);
    t.equal(refused.stdout, '');
  }
  const compared = await run(t, ['bench', 'compare', '--modes', 'plain-2s']);
  t.equal(compared.code, 2);
  t.match(compared.stderr, /\[unknown-mode\]/);
});

t.test('a progress bar is painted over itself on a terminal, and is nothing elsewhere', async (t) => {
  const written: string[] = [];
  const stream = (isTTY: boolean) => ({ isTTY, write: (text: string) => written.push(text) > 0 });
  const silent = createProgress('label', 4, stream(false));
  silent.done(2);
  silent.end();
  t.same(written, []);
  const bar = createProgress('label', 4, stream(true));
  bar.done(2);
  bar.end();
  t.match(written[1], /^\r.*label █{15}░{15} 50 %$/);
  t.ok(written.every((text) => text.startsWith('\r') && !text.includes('\n')));
  t.notMatch(written.at(-1), /label/);
});
