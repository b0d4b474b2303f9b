/** Workloads as files: the examples are what the page about them says, and both kinds of time can play them. */
import { readdir, readFile } from 'node:fs/promises';
import t from 'tap';
import { findWorkloads, WORKLOADS } from '../../bench/catalogue.ts';
import { compare } from '../../bench/compare/compare.ts';
import none from '../../bench/faults/none.ts';
import { refuseUnplayable } from '../../bench/live/play.ts';
import longPoll from '../../bench/modes/long-poll.ts';
import { drawRound } from '../../bench/virtual/rounds.ts';
import { drawnAs, runsOf, type Workload, workloadSchema } from '../../bench/workloads/workload.ts';

const FOLDER = 'bench/workloads/examples';
const PAGE = await readFile('bench/workloads/README.md', 'utf8');
const FILES = (await readdir(FOLDER)).sort();

t.test('the page has each member of the form, and each example', async (t) => {
  for (const member of Object.keys(workloadSchema.shape)) t.ok(PAGE.includes(`\n| \`${member}\` |`), member);
  const listed = [...PAGE.matchAll(/^\| `(\w+)` \|/gm)].map(([, member]) => member);
  t.same(listed, Object.keys(workloadSchema.shape), 'and no other, in the same order');
  t.equal(FILES.length, 3);
  for (const file of FILES) t.ok(PAGE.includes(`(examples/${file})`), file);
});

async function example(file: string): Promise<Workload> {
  return (await findWorkloads([`${FOLDER}/${file}`]))[0]!;
}

for (const file of FILES) {
  t.test(`${file} is played in virtual time, and every run ends`, async (t) => {
    const workload = await example(file);
    const given = { seed: 1, runs: 2 * runsOf(workload), modes: [longPoll], workloads: [workload], faults: [none] };
    const { cells } = await compare({ ...given, threads: 1, command: 'a test' });
    const { ends, asking, runs } = cells[0]!;
    const ended = (ends.completed ?? 0) + (ends.cancelled ?? 0);
    t.equal(ended, runs, JSON.stringify(ends));
    t.same(
      asking.map(({ strategy }) => strategy),
      workload.asking.map(({ name }) => name),
    );
  });
}

t.test('the one that is said to be short enough for real time is, and the others are refused', async (t) => {
  const at = { seed: 1, rounds: 60 };
  refuseUnplayable(await example('quick-questions.ts'), at);
  for (const file of ['impatient.ts', 'nightly-reports.json']) {
    const workload = await example(file);
    t.throws(() => refuseUnplayable(workload, at), { code: 'workload-too-long' });
  }
});

t.test('what is drawn as another one has its runs, and only its own slots', async (t) => {
  const [one, two] = await findWorkloads(['fanout-4', 'fanout-4-slots-2']);
  t.match([one!.slots, two!.slots, drawnAs(two!)], [1, 2, 'fanout-4']);
  for (const round of [0, 7]) {
    t.same(drawRound({ workload: two!, seed: 1 }, round), drawRound({ workload: one!, seed: 1 }, round));
  }
  t.notSame(
    drawRound({ workload: { ...two!, drawn_as: 'another' }, seed: 1 }, 0).runs,
    drawRound({ workload: one!, seed: 1 }, 0).runs,
  );
  await t.rejects(findWorkloads(['fanout-4-slots-65']), { code: 'unknown-workload' });
  for (const workload of WORKLOADS) t.same(workloadSchema.parse(workload), workload);
});
