/**
 * One seed, from its world to its verdict: a storm (safety), then calm (liveness), then a last look.
 *
 * Owns the phases and the bound within which everything must have ended. What is wrong is for the checkers to say.
 */

import { ALL_CHECKERS } from '../checkers/all.ts';
import type { Setup, Violation } from '../checkers/checker.ts';
import type { Defects } from '../defects.ts';
import { injectFaults } from '../faults/inject.ts';
import { drawSwarm } from '../faults/swarm.ts';
import { isServed } from '../faults/versions.ts';
import { type Fact, factsOf, type History } from '../history.ts';
import { askForRun } from '../hosts/told-run.ts';
import { DIRECT_PATH } from '../paths/direct-path.ts';
import { FULL_PATH } from '../paths/full-path.ts';
import type { PathName } from '../paths/path.ts';
import { createSwarmWorld, type SwarmWorld } from '../swarm-world.ts';
import { listenForUnheard } from './unheard.ts';

export interface SeedOptions {
  readonly seed: number;
  readonly path: PathName;
  readonly defects?: Defects;
  /** False: quicker, without a story and a hash. */
  readonly traced?: boolean;
}

export interface SeedResult {
  readonly seed: number;
  readonly path: PathName;
  readonly violations: readonly Violation[];
  /** Null when the seed was run without a trace. */
  readonly traceHash: string | null;
  /** Starts of a Graph. */
  readonly runs: number;
  /** What each run came to in the end, as its agent was told. */
  readonly ends: readonly string[];
  /** Every status that an agent was told of some run, also those that were not the last. */
  readonly seen: ReadonlySet<string>;
  /** Events of the virtual clock. */
  readonly events: number;
  readonly virtualMs: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly history: History;
}

/** Once the storm is over, time for connections to be found dead, for back-offs, ticks and a shorter hold. */
const CALM_BASE_MS = 4 * 60_000;
/** And for each command: its run, and a tick of 20 s with the calls around it. */
const CALM_PER_COMMAND_MS = 30_000;
/** The relay gives up a run whose desktop has been silent for this long. */
const LOST_MS = 15 * 60_000;
/** Steps of the relay's clock may add up to this much (see fault-plan.ts), and a start-by time moves with them. */
const WALL_STEPS_MS = 30 * 60_000;
const LOOK_MS = 5_000;
const SLICE_MS = 10_000;
/** A usual world has some hundred events, a long one some thousand. With this many, something goes round and round. */
const MOST_EVENTS = 15_000;
/** After the last end: what comes late must change nothing. */
const AFTERWARDS_MS = 30_000;

export async function runSeed(options: SeedOptions): Promise<SeedResult> {
  const { seed, path: name, defects = {}, traced = true } = options;
  const swarm = drawSwarm(seed);
  const world = await createSwarmWorld(swarm, { path: name === 'full' ? FULL_PATH : DIRECT_PATH, defects, traced });
  const { clock, history, relay } = world;
  const unheard = listenForUnheard(() => clock.monotonic());
  // Whatever was told must hold in the first instant of a relay's next life, before anybody can repair it.
  relay.onStart(() => void audit(world, toldCommands(history)));

  const endStorm = injectFaults(world);
  startPeople(world);
  await storm(world);
  endStorm();
  const late = await untilAllEnded(world);
  await clock.advance(AFTERWARDS_MS);
  await clock.settle(audit(world, toldCommands(history)));

  // What is still held has timers of its own on the full path.
  const traceHash = traced ? clock.traceHash() : null;
  relay.kill();
  const setup = setupOf(world);
  const told = factsOf(history.facts, 'told');
  const violations = [...late, ...unheard(), ...verdict(history.facts, setup)].sort((a, b) => a.at - b.at);
  return {
    seed,
    path: name,
    violations,
    traceHash,
    runs: factsOf(history.facts, 'engine-started').length,
    ends: [...new Map(told.map(({ commandId, run }) => [commandId, run.status])).values()],
    seen: new Set(told.map(({ run }) => run.status)),
    events: clock.events,
    virtualMs: clock.monotonic(),
    faults: history.faults,
    history,
  };
}

/** The storm, unless the world runs hot: then there is enough to see already. */
async function storm(world: SwarmWorld): Promise<void> {
  const { clock, history, relay, swarm } = world;
  const end = clock.monotonic() + swarm.stormMs;
  while (clock.monotonic() < end && clock.events < MOST_EVENTS) {
    await clock.advance(Math.min(SLICE_MS, end - clock.monotonic()));
    if (swarm.watched && relay.serving !== null) void audit(world, openCommands(history.facts));
  }
}

function setupOf({ swarm, desktops }: SwarmWorld): Setup {
  return {
    slots: new Map(swarm.desktops.map(({ name, slots }) => [name, slots])),
    desktopOfSession: new Map(
      desktops.flatMap(({ plan, host }) =>
        host.sessions.map((session) => [session.graph_session_id, plan.name] as const),
      ),
    ),
    projects: new Map(swarm.callers.map(({ name, projects }) => [name, projects])),
    relayDiskMs: swarm.relayDiskMs,
    startByMs: swarm.startByMs,
  };
}

function startPeople({ clock, swarm, desktops, callers }: SwarmWorld): void {
  for (const { host, shares } of desktops) {
    void host.share(host.start(), shares);
  }
  for (const { atMs, caller: index, deed } of swarm.deeds) {
    const caller = callers[index]!;
    const { projects } = swarm.callers[index]!;
    clock.after(atMs, () => {
      const shares = desktops.flatMap((place) => place.shares);
      const sessions = shares.filter(({ projectId }) => projects.includes(projectId)).map((s) => s.graphSessionId);
      const strangers = callers.filter((other) => other !== caller).flatMap((other) => other.runs());
      void caller.act(deed, { sessions, strangers });
    });
  }
}

/** Who was told of which command. */
function toldCommands({ facts }: History): Map<string, string> {
  return new Map(factsOf(facts, 'told').map(({ commandId, agent }) => [commandId, agent]));
}

/** Reads these commands as their agents would, without a network in between. */
async function audit(world: SwarmWorld, commands: ReadonlyMap<string, string>): Promise<void> {
  for (const caller of world.callers) {
    const counter = world.counterOf(caller);
    for (const [commandId, agent] of commands) {
      if (agent === caller.options.name) await askForRun(counter, { commandId, waitMs: 0, by: 'audit' });
    }
  }
}

const ENDS: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'expired', 'lost']);

/** Runs on until every command has ended, or until the bound. What has not ended by then is a violation. */
async function untilAllEnded(world: SwarmWorld): Promise<Violation[]> {
  const { clock, history } = world;
  const start = clock.monotonic();
  for (;;) {
    await clock.advance(LOOK_MS);
    const open = openCommands(history.facts);
    await clock.settle(audit(world, open));
    const left = openCommands(history.facts);
    const boundMs = calmBaseMs(world) + toldCommands(history).size * (CALM_PER_COMMAND_MS + longestRun(world));
    if (left.size === 0) return [];
    const afterMs = clock.monotonic() - start;
    if (afterMs > boundMs || clock.events > MOST_EVENTS) {
      return [...left.keys()].map((id) => notEnded(id, afterMs, clock.monotonic()));
    }
  }
}

/** Nobody comes for some runs: they end when it is too late for them, or when nothing is said of them for too long. */
function calmBaseMs({ swarm, desktops }: SwarmWorld): number {
  const out = desktops.some(({ plan, host }) => !isServed(plan.contract, host.names));
  if (out) return CALM_BASE_MS + Math.max(swarm.startByMs, LOST_MS) + WALL_STEPS_MS;
  // One of the plain contract is there, and may have forgotten what it ran.
  return CALM_BASE_MS + (desktops.some(({ plan }) => plan.contract === 'plain-json') ? LOST_MS : 0);
}

function longestRun({ swarm }: SwarmWorld): number {
  return Math.max(...swarm.desktops.map(({ graphs }) => graphs.maxMs + graphs.stopMs));
}

/** Commands whose last word was not an end, with their agents. */
function openCommands(facts: readonly Fact[]): Map<string, string> {
  const open = new Map<string, string>();
  for (const { commandId, agent, run } of factsOf(facts, 'told')) {
    if (ENDS.has(run.status)) open.delete(commandId);
    else open.set(commandId, agent);
  }
  return open;
}

function notEnded(commandId: string, afterMs: number, at: number): Violation {
  const text = `the run has not ended ${Math.round(afterMs / 1_000)} s after the storm`;
  return { rule: 'after the faults stop, every run ends within a bound', text, at, commandId };
}

function verdict(facts: readonly Fact[], setup: Setup): Violation[] {
  return ALL_CHECKERS.flatMap(({ rule, check }) => [...check(facts, setup)].map((found) => ({ rule, ...found })));
}
