/** Who speaks what: a desktop and a relay without a version in common have nothing to do with each other. */
import { type Fact, type FactOf, factsOf } from '../history.ts';
import type { Checker } from './checker.ts';

/** Written down again here on purpose. */
const SPOKEN: Readonly<Record<string, readonly string[]>> = { trpc: ['1', '2'], 'plain-json': ['1'] };
const REFUSAL = 'unsupported-protocol';
/** From the refusal to the end: runs may finish for 10 s, and what is written down waits for a slow disk. */
const END_MS = 30_000;

/** Who names no version speaks the one of the place that it calls. */
function isSpoken({ contract, names }: FactOf<'desktop-started'>): boolean {
  if (names === null) return true;
  const named = names.split(',').map((name) => name.trim());
  return SPOKEN[contract]!.some((version) => named.includes(version));
}

function strangersOf(facts: readonly Fact[]): Map<string, string | null> {
  const strangers = factsOf(facts, 'desktop-started').filter((fact) => !isSpoken(fact));
  return new Map(strangers.map(({ instance, names }) => [instance, names]));
}

export const onlySpokenVersionsAreServed: Checker = {
  rule: 'who has no version in common with the relay is served nothing and runs nothing, and nobody else is refused for it',
  *check(facts) {
    const strangers = strangersOf(facts);
    for (const fact of factsOf(facts, 'call-ended', 'engine-started')) {
      const { at, commandId, instance } = fact;
      const names = strangers.get(instance);
      if (fact.type === 'engine-started') {
        if (names !== undefined) yield { at, commandId, text: `${instance} speaks ${names}, and runs it` };
      } else if (names !== undefined && fact.error === null) {
        yield { at, commandId, text: `${instance} speaks ${names}, and its ${fact.call} was answered` };
      } else if (names === undefined && fact.error === REFUSAL) {
        yield { at, commandId, text: `${instance} speaks what the relay speaks, and its ${fact.call} was refused` };
      }
    }
  },
};

export const refusedVersionsEnd: Checker = {
  rule: 'a desktop that is told of no version in common asks no more, and ends with that code',
  *check(facts) {
    const toldAt = new Map<string, number>();
    for (const fact of facts) {
      // What it has to report is refused in the same way, and says nothing to whoever asks for work.
      const refused = fact.type === 'call-ended' && fact.call === 'sync' && fact.error === REFUSAL;
      if (refused && !toldAt.has(fact.instance)) toldAt.set(fact.instance, fact.at);
      const asks = fact.type === 'call-sent' && (fact.call === 'sync' || fact.call === 'probe');
      if (asks && toldAt.has(fact.instance)) {
        yield { at: fact.at, commandId: null, text: `${fact.instance} was refused, and sends a ${fact.call}` };
      }
    }
    yield* wrongEnds(facts, toldAt);
  },
};

function* wrongEnds(facts: readonly Fact[], toldAt: ReadonlyMap<string, number>) {
  const ends = new Map(factsOf(facts, 'desktop-ended').map((fact) => [fact.instance, fact]));
  const sleepers = new Set(
    factsOf(facts, 'fault')
      .filter(({ kind }) => kind === 'sleep' || kind === 'disk-refuses')
      .map(({ where }) => where),
  );
  for (const [instance, at] of toldAt) {
    const end = ends.get(instance);
    const until = end?.at ?? facts.at(-1)!.at;
    const mayTakeLong = sleepers.has(instance.split('#')[0]!);
    if (until - at > END_MS && !mayTakeLong) {
      yield { at: until, commandId: null, text: `${instance} was refused, and goes on for ${until - at} ms` };
    }
    // Somebody may stop it before it has ended by itself.
    if (end !== undefined && ![REFUSAL, 'killed', 'stopped'].includes(end.how)) {
      yield { at: end.at, commandId: null, text: `${instance} was refused for its version, and ends as ${end.how}` };
    }
  }
}
