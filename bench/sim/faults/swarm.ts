/**
 * What the world of a seed is made of. Each kind of trouble is there or not (swarm testing): a world with everything in
 * it hides what only shows when something is missing.
 *
 * Owns the drawing, nothing else: plain data comes out.
 */
import type { ModeName } from '../../../desktop-agent/modes.ts';
import type { Contract } from '../history.ts';
import type { Deed } from '../hosts/caller.ts';
import type { GraphHabits } from '../hosts/simulated-graphs.ts';
import { namedRandom } from '../seeded.ts';
import { Dice } from './dice.ts';
import {
  ABSENCE_MS,
  planAbsence,
  planFaults,
  planTriggers,
  type TimedFault,
  type TriggeredFault,
} from './fault-plan.ts';
import { drawNames, isServed } from './versions.ts';
import { CALM, type Weather } from './weather.ts';

export interface DesktopPlan {
  readonly name: string;
  readonly contract: Contract;
  /** The versions of the protocol that it names at first; null for none. */
  readonly names: string | null;
  /** Of the plain contract: whether it names its start in each sync. */
  readonly namesInstance: boolean;
  /** Whether nobody puts it right at the end of the storm when the relay does not speak with it. */
  readonly staysAsItIs: boolean;
  readonly mode: ModeName;
  readonly slots: number;
  readonly diskMs: number;
  readonly sessions: number;
  readonly weather: Weather;
  readonly graphs: GraphHabits;
  readonly monotonicSleeps: boolean;
}

export interface CallerPlan {
  readonly name: string;
  readonly projects: readonly string[];
  /** Share of its runs that it wants to start soon or never. */
  readonly hurry: number;
}

export interface TimedDeed {
  readonly atMs: number;
  /** Index of the caller. */
  readonly caller: number;
  readonly deed: Deed;
}

export interface Swarm {
  readonly seed: number;
  /** How long faults go on. */
  readonly stormMs: number;
  /** Whether runs are looked at all the time. What is lost for a while only, nobody sees otherwise. */
  readonly watched: boolean;
  readonly projects: readonly string[];
  readonly relayDiskMs: number;
  /** The owner's start-by time of runs for which the agent names none. */
  readonly startByMs: number;
  readonly desktops: readonly DesktopPlan[];
  readonly callers: readonly CallerPlan[];
  readonly callerWeather: Weather;
  readonly deeds: readonly TimedDeed[];
  readonly faults: readonly TimedFault[];
  readonly triggers: readonly TriggeredFault[];
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Share of desktops that somebody else wrote, to the plain contract. */
const PLAIN_SHARE = 0.15;
/** Share of seeds in which a desktop goes away in the middle of a run, for so long that the run is lost. */
const AWAY_SHARE = 0.22;
/** In these, everything is asked for and goes wrong early: no restart of the relay makes it wait longer. */
const AWAY_BUSY_MS = 3 * MINUTE_MS;

export function drawSwarm(seed: number): Swarm {
  const dice = new Dice(namedRandom(seed, 'swarm'));
  const kind = dice.chance(AWAY_SHARE) ? 'away' : dice.chance(0.03) ? 'long' : 'usual';
  const stormMs = drawStorm(dice, kind);
  const projects = named('project', dice.whole(1, 2));
  const graphs = drawGraphs(dice);
  const desktops = named('desktop', dice.whole(1, 3)).map((name) => drawDesktop(dice, name, graphs));
  const callers = named('agent', dice.whole(1, 3)).map((name) => drawCaller(dice, name, projects));
  const busyMs = kind === 'away' ? AWAY_BUSY_MS : stormMs;
  const given = { stormMs: busyMs, desktops };
  const faults = planFaults(dice, given);
  const outForGood = desktops.some((plan) => staysOut(plan, faults));
  const hasty = dice.chance(0.2) || outForGood;
  const soonMs = dice.magnitude(0.5, 15) * MINUTE_MS;
  return {
    seed,
    stormMs,
    watched: kind === 'away',
    projects,
    relayDiskMs: drawDisk(dice),
    // What waits for a desktop that never comes back ends with its start-by time: nobody simulates a day for it.
    startByMs: hasty ? Math.round(soonMs) : DAY_MS,
    desktops,
    callers,
    callerWeather: drawWeather(dice),
    deeds: drawDeeds(dice, { lastMs: busyMs * 0.95, callers: callers.length }),
    faults: outForGood ? faults.filter((fault) => !isDayStep(fault)) : faults,
    triggers: [...planTriggers(dice, given), ...(kind === 'away' ? [planAbsence(dice)] : [])],
  };
}

function drawStorm(dice: Dice, kind: 'usual' | 'long' | 'away'): number {
  const usualMs = dice.between(1, 5) * MINUTE_MS;
  // A desktop that is away for a quarter of an hour has lost its run, and has time to come back.
  if (kind === 'away') return AWAY_BUSY_MS + ABSENCE_MS.max + usualMs;
  return kind === 'long' ? usualMs * 8 : usualMs;
}

/** Whether the relay has no version in common with this desktop when the storm is over, and nobody changes that. */
function staysOut({ name, contract, names, staysAsItIs }: DesktopPlan, faults: readonly TimedFault[]): boolean {
  const updates = faults.filter((fault) => fault.kind === 'update').filter(({ desktop }) => desktop === name);
  const last = updates.at(-1);
  return staysAsItIs && !isServed(contract, last === undefined ? names : last.names);
}

/** With the relay's clock a day ahead, a run would wait for a day. */
function isDayStep(fault: TimedFault): boolean {
  return fault.kind === 'wall-step' && fault.byMs > DAY_MS / 2;
}

function named(what: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${what}-${index + 1}`);
}

function someOf<T>(dice: Dice, all: readonly T[]): T[] {
  const some = all.filter(() => dice.chance(0.7));
  return some.length > 0 ? some : [dice.pick(all)];
}

function drawGraphs(dice: Dice): GraphHabits {
  const minMs = dice.magnitude(1, 5_000);
  return {
    minMs,
    maxMs: minMs * dice.magnitude(1, 20),
    stopMs: dice.chance(0.3) ? dice.magnitude(1, 5_000) : 0,
    failShare: dice.chance(0.3) ? 0.3 : 0,
  };
}

const MODES: readonly ModeName[] = ['auto', 'auto', 'long-poll', 'websocket', 'plain'];

function drawCaller(dice: Dice, name: string, projects: readonly string[]): CallerPlan {
  const hurry = dice.between(0.2, 1);
  return { name, projects: someOf(dice, projects), hurry: dice.chance(0.4) ? hurry : 0 };
}

function drawDesktop(dice: Dice, name: string, graphs: GraphHabits): DesktopPlan {
  const contract: Contract = dice.chance(PLAIN_SHARE) ? 'plain-json' : 'trpc';
  const slots = dice.chance(0.6) ? 1 : dice.whole(2, 4);
  return {
    name,
    contract,
    names: drawNames(dice, contract, { mixed: 0.15, unknown: 0.04 }),
    namesInstance: dice.chance(0.5),
    staysAsItIs: dice.chance(0.5),
    mode: dice.pick(MODES),
    // The plain contract runs one after another.
    slots: contract === 'trpc' ? slots : 1,
    diskMs: drawDisk(dice),
    sessions: dice.whole(1, 2),
    weather: drawWeather(dice),
    graphs,
    monotonicSleeps: dice.chance(0.7),
  };
}

function drawDisk(dice: Dice): number {
  const slow = dice.magnitude(1, 2_000);
  return dice.chance(0.5) ? 0 : slow;
}

/** What a link is like all the time. Episodes come on top of it (see fault-plan.ts). */
function drawWeather(dice: Dice): Weather {
  const share = (present: number, most: number) => {
    const value = dice.magnitude(0.005, most);
    return dice.chance(present) ? value : 0;
  };
  return {
    ...CALM,
    wayMs: dice.magnitude(0.5, 600),
    slow: share(0.3, 0.2),
    loseRequest: share(0.3, 0.2),
    loseAnswer: share(0.3, 0.2),
    silent: dice.chance(0.3) ? dice.between(0.1, 0.9) : 0,
    duplicate: share(0.2, 0.2),
  };
}

const OTHER_DEEDS: readonly Deed[] = ['start-and-cancel', 'read', 'wait', 'cancel', 'replay', 'conflict', 'spy'];

function drawDeeds(dice: Dice, given: { lastMs: number; callers: number }): TimedDeed[] {
  const starts = dice.whole(3, 14);
  const likes = OTHER_DEEDS.filter(() => dice.chance(0.6));
  const at = () => dice.between(0, given.lastMs);
  const deed = (what: Deed): TimedDeed => ({ atMs: at(), caller: dice.whole(0, given.callers - 1), deed: what });
  const deeds = Array.from({ length: starts }, () => deed('start'));
  if (likes.length > 0)
    for (let index = dice.whole(0, starts * 3); index > 0; index--) deeds.push(deed(dice.pick(likes)));
  return deeds.sort((a, b) => a.atMs - b.atMs);
}
