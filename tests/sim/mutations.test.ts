/**
 * Do the checkers bite? Each defect below is a deliberate fault of the product. Within a fixed range of seeds the
 * checker of the broken rule must find it, and the product as it is passes the same seeds.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from 'tap';
import type { Defects } from '../../bench/sim/defects.ts';
import { runSeed } from '../../bench/sim/run/run-seed.ts';
import { NOTHING_UNHEARD } from '../../bench/sim/run/unheard.ts';
import * as borders from './border-defects.ts';
import * as defects from './product-defects.ts';

const SEEDS = Array.from({ length: 40 }, (_, index) => 5_001 + index);

interface Mutation {
  readonly name: string;
  readonly defect: () => Defects;
  /** The rule that must notice. Others may notice too. */
  readonly breaks: string;
}

const MUTATIONS: readonly Mutation[] = [
  {
    name: 'a relay whose disk says that it has what it has not',
    defect: defects.relayDiskLies,
    breaks: "what was told is on the relay's disk",
  },
  {
    name: 'a relay that forgets runs over a restart',
    defect: defects.relayForgetsRuns,
    breaks: 'a run that was accepted exists for ever after',
  },
  {
    name: 'a relay that forgets a completion which it said it had',
    defect: defects.completionsAreForgotten,
    breaks: 'a completion that the relay has taken is never forgotten',
  },
  {
    name: 'a desktop without a journal, at a relay that lets everything start',
    defect: defects.journalIsLost,
    breaks: 'no command is executed twice',
  },
  {
    name: 'a relay that lets a cancelled run start',
    defect: defects.everythingMayStart,
    breaks: 'nothing starts whose cancel was answered as done',
  },
  {
    name: 'a desktop that takes one more than it may',
    defect: defects.oneSlotTooMany,
    breaks: 'one instance never runs more at once than its owner allows',
  },
  {
    name: 'a relay that looks at no epoch',
    defect: defects.epochsAreIgnored,
    breaks: 'only the live instance of a desktop runs anything',
  },
  {
    name: 'a relay that gives every instance the same epoch',
    defect: defects.oneEpochForAll,
    breaks: 'each instance of a desktop has an epoch of its own',
  },
  {
    name: 'a relay that now and then shows an older state',
    defect: defects.oldStatesComeBack,
    breaks: 'what an agent sees of a run never goes back',
  },
  {
    name: 'a relay that guesses how a run has ended',
    defect: defects.endsAreGuessed,
    breaks: 'an end stays; only a lost run may still get its real one',
  },
  {
    name: 'a relay on which a late completion wins over a cancel',
    defect: defects.lateCompletionWins,
    breaks: 'cancelled stays cancelled',
  },
  {
    name: 'a relay that mixes up results',
    defect: defects.resultsAreMixedUp,
    breaks: "a completed run has the engine's own result",
  },
  {
    name: 'a relay that shows a run to whoever has its id',
    defect: defects.anybodyMayRead,
    breaks: 'nobody sees a run of another agent, or of a project that is not theirs',
  },
  {
    name: 'a relay that takes every completion for a failure',
    defect: defects.everythingFails,
    breaks: 'every end has a cause that somebody can name',
  },
  {
    name: 'a relay that takes a repeated key for a new one',
    defect: defects.keysAreNotKept,
    breaks: 'the same key with the same arguments is the same run',
  },
  {
    name: 'a relay that looks at no arguments',
    defect: defects.argumentsAreIgnored,
    breaks: 'the same key with other arguments is refused',
  },
  {
    name: 'a relay that keeps one list of keys for all agents',
    defect: defects.keysAreShared,
    breaks: 'the same key of another agent is another run',
  },
  {
    name: 'a relay that lets go of no held sync when a newer one comes',
    defect: defects.oldHoldsStay,
    breaks: 'a desktop holds a bounded number of requests open',
  },
  {
    name: 'a relay that holds for a minute',
    defect: defects.holdsAreLong,
    breaks: 'no request stays open longer than its hold',
  },
  {
    name: 'a relay that never holds and always asks to come at once',
    defect: defects.nothingIsHeld,
    breaks: 'a desktop sends a bounded number of requests a minute',
  },
  {
    name: 'a relay that offers a command to another desktop',
    defect: defects.offersGoAstray,
    breaks: 'a command goes to the desktop that has its Graph',
  },
  {
    name: 'a desktop that throws its completions away',
    defect: defects.completionsAreThrownAway,
    breaks: 'after the faults stop, every run ends within a bound',
  },
  {
    name: 'a relay that never gives an offer a second time',
    defect: defects.offersAreMadeOnce,
    breaks: 'after the faults stop, every run ends within a bound',
  },
  {
    name: 'a relay that holds for a minute over a WebSocket',
    defect: borders.socketHoldsAreLong,
    breaks: 'no request stays open longer than its hold',
  },
  {
    name: 'a relay that does not answer an older sync over a WebSocket when a newer one comes',
    defect: borders.oldSocketHoldsStay,
    breaks: 'a desktop holds a bounded number of requests open',
  },
  {
    name: 'a relay that looks at no version',
    defect: borders.strangersAreServed,
    breaks:
      'who has no version in common with the relay is served nothing and runs nothing, and nobody else is refused for it',
  },
  {
    name: 'a desktop that takes the refusal of its version for bad weather',
    defect: borders.refusalIsNotUnderstood,
    breaks: 'a desktop that is told of no version in common asks no more, and ends with that code',
  },
  {
    name: 'a relay that forgets how soon a run has to start',
    defect: borders.startByIsForgotten,
    breaks: 'no run is let start after its start-by time',
  },
  {
    name: 'plain routes that hand out again what they have handed out, and let it start',
    defect: borders.plainOffersComeAgain,
    breaks: 'no command is executed twice',
  },
];

for (const { name, defect, breaks } of MUTATIONS) {
  t.test(`${name}: "${breaks}" notices`, async (t) => {
    const found = await firstSeedThatBreaks(breaks, defect);
    t.ok(found !== null, `found with seed ${found}, looked from ${SEEDS[0]} to ${SEEDS.at(-1)}`);
  });
}

t.test('the product as it is passes the same seeds', async (t) => {
  for (const seed of SEEDS) t.same((await runSeed({ seed, path: 'direct' })).violations, [], `seed ${seed}`);
});

async function firstSeedThatBreaks(rule: string, defect: () => Defects): Promise<number | null> {
  for (const seed of SEEDS) {
    const { violations } = await runSeed({ seed, path: 'direct', defects: defect(), traced: false });
    if (violations.some((violation) => violation.rule === rule)) return seed;
  }
  return null;
}

/** In a process of its own: here the test runner listens for these, and ends. */
t.test(`a desktop that leaves a promise to itself: "${NOTHING_UNHEARD}" notices`, async (t) => {
  const program = `
    import { runSeed } from ${moduleText('../../bench/sim/run/run-seed.ts')};
    import { promisesAreForgotten } from ${moduleText('./border-defects.ts')};
    const { violations } = await runSeed({ seed: 5001, path: 'direct', defects: promisesAreForgotten() });
    process.stdout.write(JSON.stringify(violations.map(({ rule, text }) => [rule, text])));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  t.strictSame(JSON.parse(stdout)[0], [NOTHING_UNHEARD, 'Error: nobody listens']);
});

function moduleText(path: string): string {
  return JSON.stringify(new URL(path, import.meta.url).href);
}
