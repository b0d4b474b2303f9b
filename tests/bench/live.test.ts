import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { STATIONS } from '../../bench/live/layers.ts';
import { limitFor, refuseTooMany } from '../../bench/live/open-files.ts';
import { refuseUnplayable } from '../../bench/live/play.ts';
import { liveLines } from '../../bench/live/text.ts';
import { type LiveResult, liveResultSchema } from '../../bench/result-format.ts';
import shortRuns from '../../bench/workloads/short-runs.ts';
import { expectProcesses, type Finished, launch, tempFolder } from '../process/support.ts';

expectProcesses(t);

/** The published system with a tick each second, so that nobody waits for 20 s here. */
const PLAIN_1S = {
  name: 'plain-1s',
  about: 'asks each second',
  relay: { name: 'plain', holdMs: 0, controlHoldMs: 0, controlPauseMs: 3_000, tickMs: 1_000, takesAll: true },
};

/** As `run`, for a command that takes as long as it takes. */
async function live(t: Test, args: readonly string[]): Promise<Finished> {
  const running = launch(t, ['bench', 'live', ...args]);
  return { ...(await running.ended), stdout: running.stdout, stderr: running.stderr };
}

t.test('a quick run, from end to end, and the verdict on its samples again', async (t) => {
  const folder = await tempFolder(t);
  const [mode, out] = [join(folder, 'mode.json'), join(folder, 'out.json')];
  await writeFile(mode, JSON.stringify(PLAIN_1S));
  const modes = `${mode},long-poll,websocket`;
  const ended = await live(t, ['--quick', '--desktops', '3', '--modes', modes, '--seed', '7', '--json', '--out', out]);
  t.equal(ended.stderr, '');
  const result = liveResultSchema.parse(JSON.parse(ended.stdout));
  t.same(JSON.parse(await readFile(out, 'utf8')), result);
  // How quick this machine was in that minute is none of a test's business, so the verdict may be either.
  t.equal(ended.code, result.verdict === 'PASS' ? 0 : 1);
  t.match(result, { quick: true, seed: 7, runs: 3 * 3 * 2, desktops: 3, workload: { name: 'short-runs' } });
  t.equal(result.command, `npm run bench -- live --modes ${modes} --workload short-runs --desktops 3 --seed 7 --quick`);
  checkRuns(t, result);
  checkFloorAndLayers(t, result);
  checkHeld(t, result);
  const text = liveLines(result).join('\n');
  for (const word of ['plain-1s', 'websocket', 'first pickup', '± error', 'standard errors', 'Verdict'])
    t.ok(text.includes(word), word);
  t.notMatch(text, /NaN|undefined|Infinity/);

  await t.test('judged again it is the same, and with a false figure it fails', async (t) => {
    const again = await live(t, ['--judge', out, '--json']);
    t.equal(again.code, ended.code);
    t.same(JSON.parse(again.stdout), result);
    const lie = structuredClone(result);
    lie.cells[1]!.samples.virtual.pickup = lie.cells[1]!.samples.virtual.pickup!.map((ms) => ms! + 3_600_000);
    await writeFile(out, JSON.stringify(lie));
    const found = await live(t, ['--judge', out]);
    t.equal(found.code, 1);
    t.match(found.stdout, /pickup, mean .* FAIL\n/);
    t.match(found.stdout, /do not agree.*Verdict: FAIL/);
    t.notMatch(found.stdout, /first pickup, mean .* FAIL\n/, 'what was left alone is judged as before');
  });
});

function checkRuns(t: Test, { cells }: LiveResult): void {
  t.same(
    cells.map(({ mode }) => mode),
    ['plain-1s', 'long-poll', 'websocket'],
  );
  for (const { mode, runs, rounds, samples, figures, machine } of cells) {
    t.match({ runs, rounds }, { runs: 6, rounds: 3 });
    for (const side of [samples.virtual, samples.real]) {
      t.same(side.completed, [1, 1, 1, 1, 1, 1], `${mode}: all have completed`);
      const [pickup, turnaround, delivery] = [side.pickup!, side.turnaround!, side.delivery!];
      for (let run = 0; run < runs; run++) {
        t.ok(pickup[run]! > 0 && delivery[run]! > 0 && turnaround[run]! > pickup[run]! + 500, `${mode} ${run}`);
      }
      t.same(
        side['first pickup']!.map((ms) => ms === null),
        [false, true, false, true, false, true],
      );
      // One desktop, one worker: the second of a round begins when the first has ended, which takes at least 0.5 s.
      for (const round of [0, 1, 2]) t.ok(pickup[2 * round + 1]! > pickup[2 * round]! + 500, `${mode}: in line`);
    }
    t.ok(machine.total_ms > machine.own_ms && machine.own_ms > 0);
    t.ok(figures.every(({ error }) => error.total >= error.chance && error.total >= error.machine));
    t.equal(figures.find(({ name }) => name === 'completed')!.verdict, 'PASS');
  }
  t.ok(Math.max(...present(cells[0]!.samples.virtual['first pickup']!)) < 1_100, 'no virtual run waits for two ticks');
}

function present(sample: readonly (number | null)[]): number[] {
  return sample.filter((value) => value !== null);
}

function checkFloorAndLayers(t: Test, { floor, layers, conditions }: LiveResult): void {
  for (const { exchange_ms, append_ms } of [floor.alone, floor.beside]) {
    for (const { n, min, median, p99 } of [exchange_ms, append_ms]) {
      t.ok(n > 0 && min > 0 && min <= median && median <= p99);
    }
  }
  t.ok(Math.abs(conditions.way_ms - floor.alone.exchange_ms.median / 2) <= 0.001, 'half an exchange is a way');
  t.equal(conditions.disk_ms, floor.alone.append_ms.median);
  for (const { mode, steps, pickup_ms, ticket_ms, ...ratios } of layers) {
    t.same([steps[0]!.from, ...steps.map(({ to }) => to)], STATIONS);
    for (const { to, ms } of steps) t.ok(ms.n === 5 && ms.min >= 0, `${mode}: ${to} is not before what leads to it`);
    const sum = steps.reduce((all, { ms }) => all + ms.mean, 0);
    t.ok(Math.abs(sum - pickup_ms.mean) < 0.01, 'the layers are all of the pickup');
    t.ok(ticket_ms.min > 0 && ratios.pickup_to_exchange > 0 && ratios.ticket_to_append > 0);
  }
  t.same(
    layers.map(({ mode }) => mode),
    ['long-poll', 'websocket'],
  );
}

function checkHeld(t: Test, { held }: LiveResult): void {
  t.same(
    held.map(({ held: count, missing, failed }) => ({ count, missing, failed })),
    [
      { count: 20, missing: null, failed: 0 },
      { count: 40, missing: null, failed: 0 },
    ],
  );
  for (const { measured } of held) {
    t.ok(measured !== null && measured.rss_bytes > 0 && measured.rss_none_bytes > 0 && measured.cpu_share > 0);
    t.ok(measured!.watched_s >= 1);
  }
}

t.test('a limit of the machine that does not suffice is named, with what would', async (t) => {
  t.equal(limitFor(10_000, 20_000), null);
  t.equal(limitFor(10_000, Number.POSITIVE_INFINITY), null);
  const told = limitFor(10_000, 1_024);
  for (const word of ['1024 files', '10200', 'ulimit -n 10200']) t.ok(told?.includes(word), told ?? '');
  refuseTooMany(180, { workload: shortRuns, openFiles: 20_000 });
  t.throws(() => refuseTooMany(180, { workload: shortRuns, openFiles: 1_024 }), { code: 'too-few-files' });
});

t.test('what was not understood ends with 2 and a code, before anything is measured', async (t) => {
  const folder = await tempFolder(t);
  const other = join(folder, 'other.json');
  await writeFile(other, JSON.stringify({ format_version: 1, kind: 'compare' }));
  for (const [args, ...words] of [
    [['--modes', 'plain-2s'], '[unknown-mode]', 'plain-20s'],
    [['--modes', 'long-poll,long-poll'], '[name-taken]'],
    [['--workload', 'hurry'], '[unknown-workload]', 'short-runs'],
    [['--workload', './nothing.json'], '[file-unreadable]'],
    [['--workload', other], '[file-invalid]'],
    [['--workload', 'offline'], '[workload-offline]', '`compare`'],
    [['--workload', 'pickup'], '[workload-too-long]', 'short-runs.ts'],
    [['--judge', other], '[baseline-invalid]', 'no result of `live`'],
    [['--judge', join(folder, 'nothing')], '[baseline-invalid]'],
    [['--out', join(folder, 'no', 'folder.json')], '[out-unwritable]'],
    [['--desktops', '0'], 'from 1'],
    [['--seed', '-1'], 'from 0'],
  ] as const) {
    const { code, stdout, stderr } = await live(t, args);
    t.equal(code, 2, `${args.join(' ')}: ${stderr}`);
    t.equal(stdout, '');
    for (const word of words) t.ok(stderr.includes(word), `${word} / ${stderr}`);
  }
});

t.test('a round is as long as its last start and all of its runs', async (t) => {
  const round = (at_s: number, run_s: number) => ({ ...shortRuns, starts: [{ at_s, count: 2 }], run_s });
  refuseUnplayable(round(10, 10), { seed: 1, rounds: 1 });
  t.throws(() => refuseUnplayable(round(10, 10.01), { seed: 1, rounds: 1 }), { code: 'workload-too-long' });
});
