/**
 * Does to a world what its plan says, at the planned instants, and undoes all of it when the storm is over.
 *
 * Owns what each kind of fault means. Nothing here looks into the product: it kills, cuts, refuses and changes what an
 * owner may change.
 */
import type { DesktopPlace, SwarmWorld } from '../swarm-world.ts';
import type { FaultBody, FaultKind } from './fault-plan.ts';
import { isServed, usualNames } from './versions.ts';
import { SLOW_MS } from './weather.ts';

/** Longer than any message is on its way, doubled ones included. */
const LAST_WORDS_MS = 3 * SLOW_MS;

/** An installer does not wait for long. */
const UPDATE_GRACE_MS = 2_000;

type FaultOf<K extends FaultKind> = Extract<FaultBody, { kind: K }>;
type Doing = { readonly [K in FaultKind]: (world: SwarmWorld, fault: FaultOf<K>) => void };

/** Arms the faults. Returns what ends the storm. */
export function injectFaults(world: SwarmWorld): () => void {
  let over = false;
  for (const fault of world.swarm.faults) {
    world.clock.after(fault.atMs, () => {
      if (!over) inject(world, fault);
    });
  }
  const counts = new Map<string, number>();
  world.history.onFact((fact) => {
    const { type } = fact;
    const count = (counts.get(type) ?? 0) + 1;
    counts.set(type, count);
    for (const trigger of world.swarm.triggers) {
      if (over || trigger.after !== type || trigger.nth !== count) continue;
      const there = trigger.there && 'desktop' in fact ? { desktop: fact.desktop } : {};
      world.clock.after(trigger.delayMs, () => {
        if (!over) inject(world, { ...trigger.fault, ...there });
      });
    }
  });
  return () => {
    over = true;
    calmDown(world);
  };
}

function inject(world: SwarmWorld, fault: FaultBody): void {
  const { history } = world;
  const where = 'desktop' in fault ? fault.desktop : 'where' in fault ? fault.where : 'relay';
  const kind = fault.kind === 'weather' ? fault.name : fault.kind;
  history.countFault(kind);
  history.add({ type: 'fault', kind, where, detail: JSON.stringify(fault) });
  history.tell(where, `FAULT ${kind}`);
  (DOING[fault.kind] as (world: SwarmWorld, fault: FaultBody) => void)(world, fault);
}

const DOING: Doing = {
  'relay-kill': ({ relay, clock }, { downMs }) => {
    relay.kill();
    clock.after(downMs, () => relay.start());
  },
  'relay-drain': ({ relay, clock }, { downMs }) => {
    const down = () => void clock.after(downMs, () => relay.start());
    void relay.drain().then(down);
  },
  'desktop-kill': (world, { desktop, downMs }) => {
    const { host } = placeOf(world, desktop);
    const victim = host.primary;
    if (victim === null) return;
    host.kill(victim);
    world.clock.after(downMs, () => host.startIfGone());
  },
  'desktop-drain': (world, { desktop, graceMs, downMs }) => {
    const { host } = placeOf(world, desktop);
    const { primary } = host;
    if (primary === null) return;
    const restart = () => void world.clock.after(downMs, () => host.startIfGone());
    void host.stop(primary, { graceMs, how: 'stopped' }).then(restart);
  },
  copy: (world, { desktop }) => {
    const { host, shares } = placeOf(world, desktop);
    if (host.instances.length < 3) host.start(shares);
  },
  sleep: (world, { desktop, forMs }) => {
    const { machine } = placeOf(world, desktop).host.options;
    machine.sleep();
    world.clock.after(forMs, () => machine.wake());
  },
  'wall-step': (world, { where, byMs }) => machineOf(world, where).stepWall(byMs),
  'disk-refuses': (world, { where, forMs }) => {
    refuseWrites(world, where, 'no space left on the device');
    world.clock.after(forMs, () => refuseWrites(world, where, null));
  },
  unshare: (world, { desktop, forMs }) => {
    const place = placeOf(world, desktop);
    const { primary } = place.host;
    const share = place.shares[0];
    if (primary === null || share === undefined) return;
    const { projectId, graphSessionId } = share;
    world.history.add({ type: 'sharing-changed', desktop, session: graphSessionId, how: 'unshared' });
    quietly(primary.program.unshare(projectId, graphSessionId));
    world.clock.after(forMs, () => {
      if (place.host.primary === primary) quietly(primary.program.share(projectId, graphSessionId));
    });
  },
  rename: (world, { desktop }) => {
    const { host } = placeOf(world, desktop);
    const session = host.sessions[0];
    if (session === undefined) return;
    world.history.add({ type: 'sharing-changed', desktop, session: session.graph_session_id, how: 'renamed' });
    host.sessions[0] = { ...session, slug: `${session.slug}-renamed`, version: session.version + 1 };
    for (const { program } of host.instances) program.libraryChanged();
  },
  update: (world, { desktop, names, downMs }) => {
    const { host } = placeOf(world, desktop);
    host.install(names);
    const restart = () => void world.clock.after(downMs, () => host.startIfGone());
    if (host.primary === null) restart();
    else void host.stop(host.primary, { graceMs: UPDATE_GRACE_MS, how: 'stopped' }).then(restart);
  },
  weather: (world, { desktop, forMs, changes }) => {
    const end = placeOf(world, desktop).sky.begin(changes);
    world.clock.after(forMs, end);
  },
};

/** Everything works from here on. */
function calmDown(world: SwarmWorld): void {
  const { relay, desktops, callerSky, history } = world;
  history.add({ type: 'calm' });
  history.tell('world', 'THE STORM IS OVER');
  callerSky.calm();
  relay.machine.setWallRight();
  relay.refuseWrites(null);
  for (const { host, plan, sky } of desktops) {
    sky.calm();
    // Some owners put a program right that the relay does not speak with. Others never do.
    if (!plan.staysAsItIs && !isServed(plan.contract, host.names)) {
      host.install(usualNames(plan.contract));
      for (const instance of [...host.instances]) host.kill(instance);
    }
    host.options.machine.setWallRight();
    for (const { disk } of host.instances) disk.failWrites(null);
    host.options.machine.wake();
  }
  // Not in the same instant: a machine that wakes has news to take in first.
  world.clock.after(1, () => everybodyUp(world));
}

/** The relay serves, and of each desktop one instance lives and shares what it should. */
function everybodyUp({ relay, desktops, clock }: SwarmWorld): void {
  // A relay that is about to stop would go on stopping.
  if (relay.serving?.relay.draining()) relay.kill();
  relay.start();
  for (const { host, shares } of desktops) {
    const up = () => void host.share(host.primary ?? host.start(), shares);
    if (host.hadCopies) {
      // Who is live after copies is for the relay to say. One that starts when the last word of all others has arrived
      // is live for certain.
      for (const instance of [...host.instances]) host.kill(instance);
      clock.after(LAST_WORDS_MS, up);
    } else up();
  }
}

function placeOf(world: SwarmWorld, name: string): DesktopPlace {
  return world.desktops.find(({ plan }) => plan.name === name)!;
}

function machineOf(world: SwarmWorld, where: string) {
  return where === 'relay' ? world.relay.machine : placeOf(world, where).host.options.machine;
}

function refuseWrites(world: SwarmWorld, where: string, reason: string | null): void {
  if (where === 'relay') world.relay.refuseWrites(reason);
  else for (const { disk } of placeOf(world, where).host.instances) disk.failWrites(reason);
}

/** A disk that refuses, or a process that ends: the owner would see it, and nobody here minds. */
function quietly(done: Promise<unknown>): void {
  done.catch(() => {});
}
