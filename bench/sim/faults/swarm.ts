/**
 * What the world of a seed is made of. Each kind of trouble is there or not (swarm testing): a world with everything in
 * it hides what only shows when something is missing.
 *
 * Owns the drawing, nothing else: plain data comes out.
 */
import type { ModeName } from '../../../desktop-agent/modes.ts';
import type { Deed } from '../hosts/caller.ts';
import type { GraphHabits } from '../hosts/simulated-graphs.ts';
import { namedRandom } from '../seeded.ts';
import { Dice } from './dice.ts';
import { planFaults, planTriggers, type TimedFault, type TriggeredFault } from './fault-plan.ts';
import { CALM, type Weather } from './weather.ts';

export interface DesktopPlan {
  readonly name: string;
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
  readonly projects: readonly string[];
  readonly relayDiskMs: number;
  readonly desktops: readonly DesktopPlan[];
  readonly callers: readonly CallerPlan[];
  readonly callerWeather: Weather;
  readonly deeds: readonly TimedDeed[];
  readonly faults: readonly TimedFault[];
  readonly triggers: readonly TriggeredFault[];
}

export function drawSwarm(seed: number): Swarm {
  const dice = new Dice(namedRandom(seed, 'swarm'));
  // A long storm lets a desktop be silent for so long that its runs are lost.
  const long = dice.chance(0.03);
  const stormMs = dice.between(60_000, 300_000) * (long ? 8 : 1);
  const projects = named('project', dice.whole(1, 2));
  const graphs = drawGraphs(dice);
  const desktops = named('desktop', dice.whole(1, 3)).map((name) => drawDesktop(dice, name, graphs));
  const callers = named('agent', dice.whole(1, 3)).map((name) => ({ name, projects: someOf(dice, projects) }));
  const given = { stormMs, desktops: desktops.map(({ name }) => name) };
  return {
    seed,
    stormMs,
    projects,
    relayDiskMs: drawDisk(dice),
    desktops,
    callers,
    callerWeather: drawWeather(dice),
    deeds: drawDeeds(dice, { stormMs, callers: callers.length }),
    faults: planFaults(dice, given),
    triggers: planTriggers(dice, given),
  };
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

function drawDesktop(dice: Dice, name: string, graphs: GraphHabits): DesktopPlan {
  return {
    name,
    mode: dice.pick(MODES),
    slots: dice.chance(0.6) ? 1 : dice.whole(2, 4),
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

function drawDeeds(dice: Dice, given: { stormMs: number; callers: number }): TimedDeed[] {
  const starts = dice.whole(3, 14);
  const likes = OTHER_DEEDS.filter(() => dice.chance(0.6));
  const at = () => dice.between(0, given.stormMs * 0.95);
  const deed = (what: Deed): TimedDeed => ({ atMs: at(), caller: dice.whole(0, given.callers - 1), deed: what });
  const deeds = Array.from({ length: starts }, () => deed('start'));
  if (likes.length > 0)
    for (let index = dice.whole(0, starts * 3); index > 0; index--) deeds.push(deed(dice.pick(likes)));
  return deeds.sort((a, b) => a.atMs - b.atMs);
}
