/**
 * When what goes wrong: the faults of a seed that happen at an instant or for a while.
 *
 * Owns the kinds and how often each comes. Plain data; `inject.ts` does it.
 */
import type { Contract, FactBody } from '../history.ts';
import type { Dice } from './dice.ts';
import { drawNames } from './versions.ts';
import type { Weather } from './weather.ts';

export type FaultBody =
  | { readonly kind: 'relay-kill'; readonly downMs: number }
  | { readonly kind: 'relay-drain'; readonly downMs: number }
  | { readonly kind: 'desktop-kill'; readonly desktop: string; readonly downMs: number }
  | { readonly kind: 'desktop-drain'; readonly desktop: string; readonly graceMs: number; readonly downMs: number }
  /** Another machine with the same identity comes up. */
  | { readonly kind: 'copy'; readonly desktop: string }
  | { readonly kind: 'sleep'; readonly desktop: string; readonly forMs: number }
  /** `where`: a desktop, or `relay`. */
  | { readonly kind: 'wall-step'; readonly where: string; readonly byMs: number }
  | { readonly kind: 'disk-refuses'; readonly where: string; readonly forMs: number }
  | { readonly kind: 'unshare'; readonly desktop: string; readonly forMs: number }
  | { readonly kind: 'rename'; readonly desktop: string }
  /** Another version of its program is installed, and names these versions of the protocol. */
  | { readonly kind: 'update'; readonly desktop: string; readonly names: string | null; readonly downMs: number }
  | {
      readonly kind: 'weather';
      readonly name: string;
      readonly desktop: string;
      readonly forMs: number;
      readonly changes: Partial<Weather>;
    };

export type FaultKind = FaultBody['kind'];
export type TimedFault = FaultBody & { readonly atMs: number };

/**
 * A fault shortly after something has happened for the n-th time: most faults of software sit in the moment between an
 * answer and what should have come before it.
 */
export interface TriggeredFault {
  readonly fault: FaultBody;
  readonly after: FactBody['type'];
  readonly nth: number;
  readonly delayMs: number;
  /** It befalls the desktop of what has happened, and not the one that the fault names. */
  readonly there?: true;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

interface Given {
  readonly stormMs: number;
  readonly desktops: readonly { readonly name: string; readonly contract: Contract }[];
}

type Draw = (dice: Dice, given: Given) => FaultBody;

const desktopOf = (dice: Dice, { desktops }: Given) => dice.pick(desktops).name;
const someone = (dice: Dice, { desktops }: Given) => dice.pick(['relay', ...desktops.map(({ name }) => name)]);
const downMs = (dice: Dice) => dice.magnitude(5, 30_000);

/** Each kind, and the share of seeds that have it. */
const KINDS: readonly { readonly share: number; readonly most: number; readonly draw: Draw }[] = [
  { share: 0.35, most: 4, draw: (dice) => ({ kind: 'relay-kill', downMs: downMs(dice) }) },
  { share: 0.15, most: 2, draw: (dice) => ({ kind: 'relay-drain', downMs: downMs(dice) }) },
  {
    share: 0.35,
    most: 4,
    draw: (dice, given) => ({ kind: 'desktop-kill', desktop: desktopOf(dice, given), downMs: downMs(dice) }),
  },
  {
    share: 0.2,
    most: 2,
    draw: (dice, given) => ({
      kind: 'desktop-drain',
      desktop: desktopOf(dice, given),
      graceMs: dice.magnitude(10, 20_000),
      downMs: downMs(dice),
    }),
  },
  { share: 0.2, most: 2, draw: (dice, given) => ({ kind: 'copy', desktop: desktopOf(dice, given) }) },
  {
    share: 0.2,
    most: 2,
    draw: (dice, given) => ({
      kind: 'sleep',
      desktop: desktopOf(dice, given),
      forMs: dice.magnitude(1_000, 25 * MINUTE_MS),
    }),
  },
  {
    share: 0.2,
    most: 3,
    draw: (dice, given) => ({
      kind: 'wall-step',
      where: someone(dice, given),
      byMs: Math.round(dice.between(-10, 10) * MINUTE_MS),
    }),
  },
  {
    share: 0.2,
    most: 2,
    draw: (dice, given) => ({ kind: 'disk-refuses', where: someone(dice, given), forMs: dice.magnitude(100, 30_000) }),
  },
  // Beyond the start-by time of whatever waits: it expires.
  { share: 0.04, most: 1, draw: (dice) => ({ kind: 'wall-step', where: 'relay', byMs: dice.whole(24, 30) * HOUR_MS }) },
  {
    share: 0.25,
    most: 3,
    draw: (dice, given) => ({ kind: 'unshare', desktop: desktopOf(dice, given), forMs: dice.magnitude(10, 30_000) }),
  },
  { share: 0.1, most: 1, draw: (dice, given) => ({ kind: 'rename', desktop: desktopOf(dice, given) }) },
  { share: 0.15, most: 2, draw: update },
  { share: 0.3, most: 3, draw: (dice, given) => episode(dice, given, 'cuts') },
  { share: 0.2, most: 2, draw: (dice, given) => episode(dice, given, 'black hole') },
  { share: 0.2, most: 2, draw: (dice, given) => episode(dice, given, 'one way') },
  { share: 0.2, most: 2, draw: (dice, given) => episode(dice, given, 'sockets') },
  { share: 0.2, most: 2, draw: (dice, given) => episode(dice, given, 'doubled') },
];

function update(dice: Dice, { desktops }: Given): FaultBody {
  const { name, contract } = dice.pick(desktops);
  const names = drawNames(dice, contract, { mixed: 0.3, unknown: 0.5 });
  return { kind: 'update', desktop: name, names, downMs: downMs(dice) };
}

export function planFaults(dice: Dice, given: Given): TimedFault[] {
  const faults: TimedFault[] = [];
  for (const { share, most, draw } of KINDS) {
    if (!dice.chance(share)) continue;
    for (let count = dice.whole(1, most); count > 0; count--) {
      faults.push({ ...draw(dice, given), atMs: dice.between(0, given.stormMs * 0.95) });
    }
  }
  return faults.sort((a, b) => a.atMs - b.atMs);
}

type Moment = FactBody['type'];
/** What the relay has said, or a desktop has been told to be done: the moments that a disk should have come before. */
const OF_THE_RELAY: readonly Moment[] = ['told', 'ticket', 'call-ended', 'engine-started'];
const OF_A_DESKTOP: readonly Moment[] = ['engine-started', 'engine-ended', 'call-sent', 'call-ended'];
/** Calls are many; the others come once or twice for each run. */
const OFTEN: ReadonlySet<Moment> = new Set(['call-sent', 'call-ended']);

/** Kills in the worst moments, and copies that come up then. */
export function planTriggers(dice: Dice, given: Given): TriggeredFault[] {
  if (!dice.chance(0.5)) return [];
  const kinds: { readonly moments: readonly Moment[]; readonly draw: Draw }[] = [
    { moments: OF_THE_RELAY, draw: () => ({ kind: 'relay-kill', downMs: downMs(dice) }) },
    {
      moments: OF_A_DESKTOP,
      draw: () => ({ kind: 'desktop-kill', desktop: desktopOf(dice, given), downMs: downMs(dice) }),
    },
    { moments: OF_A_DESKTOP, draw: () => ({ kind: 'copy', desktop: desktopOf(dice, given) }) },
  ];
  const present = kinds.filter(() => dice.chance(0.6));
  if (present.length === 0) return [];
  return Array.from({ length: dice.whole(1, 8) }, () => {
    const { moments, draw } = dice.pick(present);
    const after = dice.pick(moments);
    const nth = dice.whole(1, OFTEN.has(after) ? 60 : 12);
    return { fault: draw(dice, given), after, nth, delayMs: dice.magnitude(0.01, 1_000) };
  });
}

/** How long a desktop is away: longer than the relay waits for news of a run. */
export const ABSENCE_MS = { min: 15.2 * MINUTE_MS, max: 18 * MINUTE_MS } as const;

/** In the middle of a run its desktop goes: it dies, sleeps, or nothing of it gets through. The run is lost. */
export function planAbsence(dice: Dice): TriggeredFault {
  const forMs = dice.between(ABSENCE_MS.min, ABSENCE_MS.max);
  const nobody = '';
  const faults: readonly FaultBody[] = [
    { kind: 'desktop-kill', desktop: nobody, downMs: forMs },
    { kind: 'sleep', desktop: nobody, forMs },
    { kind: 'weather', name: 'black hole', desktop: nobody, forMs, changes: EPISODES['black hole']() },
  ];
  return {
    fault: dice.pick(faults),
    after: 'engine-started',
    nth: dice.whole(1, 2),
    delayMs: dice.between(0, 3),
    there: true,
  };
}

const EPISODES = {
  cuts: (dice: Dice): Partial<Weather> => ({
    cutAfterMs: dice.magnitude(300, 20_000),
    cutAs: dice.pick(['reset', 'html-504'] as const),
    ...(dice.chance(0.5) ? { sockets: dice.pick(['refused', 'swallowed'] as const) } : {}),
    ...(dice.chance(0.3) ? { silent: 0.5 } : {}),
  }),
  'black hole': (): Partial<Weather> => ({ loseRequest: 1, loseAnswer: 1, silent: 1 }),
  'one way': (dice: Dice): Partial<Weather> => ({
    ...(dice.chance(0.5) ? { loseRequest: 1 } : { loseAnswer: 1 }),
    silent: dice.pick([0, 0.5, 1]),
  }),
  sockets: (dice: Dice): Partial<Weather> => ({
    sockets: dice.pick(['open', 'refused', 'swallowed'] as const),
    socketLifeMs: dice.magnitude(500, 60_000),
  }),
  doubled: (dice: Dice): Partial<Weather> => ({ duplicate: dice.between(0.2, 1) }),
} as const;

function episode(dice: Dice, given: Given, name: keyof typeof EPISODES): FaultBody {
  const forMs = dice.magnitude(1_000, given.stormMs);
  return { kind: 'weather', name, desktop: desktopOf(dice, given), forMs, changes: EPISODES[name](dice) };
}
