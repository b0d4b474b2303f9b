/** Every end of a run has a cause: its Graph, somebody who stopped it, or something that went wrong on its way. */
import { type Fact, type FactOf, factsOf } from '../history.ts';
import type { Break, Checker, Setup } from './checker.ts';
import { relayClockWasSet, type StartBy, startByOf } from './start-by.ts';
import { isEnd } from './statuses.ts';

/** What may have ended a run otherwise than its Graph did. */
interface Troubles {
  readonly cancelAsked: ReadonlySet<string>;
  /** Desktops whose owner has changed what is shared. The relay may have learned of it at any time since. */
  readonly sharing: ReadonlySet<string>;
  /** Desktops whose disk has refused writes: what cannot be written down does not run. */
  readonly disks: ReadonlySet<string>;
  /** Whether somebody has set the relay's clock: then what is too late for it may be early here. */
  readonly relayClock: boolean;
  /** By command, the instant before which it cannot have been too late for it. */
  readonly startBy: ReadonlyMap<string, StartBy>;
  /** Desktops of the plain contract. */
  readonly plain: ReadonlySet<string>;
  /** When an instance started or ended, by desktop. */
  readonly instances: ReadonlyMap<string, readonly number[]>;
}

export const endsHaveCauses: Checker = {
  rule: 'every end has a cause that somebody can name',
  *check(facts, setup) {
    const { desktopOfSession } = setup;
    const troubles = troublesOf(facts, setup);
    const queued = firstSeen(facts);
    const engine = new Map(factsOf(facts, 'engine-ended').map((fact) => [fact.commandId, fact]));
    for (const [commandId, fact] of lastTold(facts)) {
      const desktop = desktopOfSession.get(fact.run.session);
      if (desktop === undefined || !isEnd(fact.run.status)) continue;
      const at = queued.get(commandId) ?? 0;
      yield* causeless({ fact, engineSaid: engine.get(commandId)?.status ?? null, at, desktop, troubles });
    }
  },
};

interface End {
  readonly fact: FactOf<'told'>;
  readonly engineSaid: string | null;
  readonly at: number;
  readonly desktop: string;
  readonly troubles: Troubles;
}

/** A desktop that is not heard of for this long has lost its runs. */
const LOST_MS = 15 * 60_000;

function* causeless({ fact, engineSaid, at: queuedAt, desktop, troubles }: End): Iterable<Break> {
  const { commandId, at, run } = fact;
  const since = (instants: readonly number[] | undefined) => instants?.some((instant) => instant >= queuedAt) ?? false;
  const asked = troubles.cancelAsked.has(commandId);
  const stopped = asked || troubles.sharing.has(desktop);
  const instances = since(troubles.instances.get(desktop));
  const engineStopped = engineSaid === 'cancelled';
  const causes: Readonly<Record<string, boolean>> = {
    completed: engineSaid === 'completed',
    failed: engineSaid === 'failed' || instances || (engineSaid === null && troubles.disks.has(desktop)),
    cancelled: stopped || ((engineStopped || engineSaid === null) && instances),
    // One of the plain contract forgets over a restart what it has run, and its next instance shows that it has.
    lost: at - queuedAt >= LOST_MS || (troubles.plain.has(desktop) && instances),
    expired: troubles.relayClock || at >= (troubles.startBy.get(commandId)?.earliest ?? 0),
  };
  if (!causes[run.status])
    yield { at, commandId, text: `it is ${run.status}, and nothing has happened that makes it so` };
  const undisturbed = !stopped && !instances && engineSaid !== null;
  if (undisturbed && run.status !== engineSaid) {
    yield {
      at,
      commandId,
      text: `the engine ended as ${engineSaid}, nobody stopped it, and it is told as ${run.status}`,
    };
  }
}

/** When anything was seen of a command first: its ticket may come long after it was queued. */
function firstSeen(facts: readonly Fact[]): Map<string, number> {
  const seen = new Map<string, number>();
  const see = (commandId: string, at: number) => seen.set(commandId, Math.min(at, seen.get(commandId) ?? at));
  for (const fact of factsOf(facts, 'ticket', 'call-ended')) {
    if (fact.type === 'ticket') see(fact.commandId, fact.askedAt);
    else for (const commandId of fact.offered) see(commandId, fact.at);
  }
  return seen;
}

function lastTold(facts: readonly Fact[]): Map<string, FactOf<'told'>> {
  return new Map(factsOf(facts, 'told').map((fact) => [fact.commandId, fact]));
}

function troublesOf(facts: readonly Fact[], setup: Setup): Troubles {
  const instances = new Map<string, number[]>();
  for (const { desktop, at } of factsOf(facts, 'desktop-started', 'desktop-ended')) {
    instances.set(desktop, [...(instances.get(desktop) ?? []), at]);
  }
  const plain = factsOf(facts, 'desktop-started').filter(({ contract }) => contract === 'plain-json');
  const refused = factsOf(facts, 'fault').filter(({ kind }) => kind === 'disk-refuses');
  return {
    cancelAsked: new Set(factsOf(facts, 'cancel-asked').map(({ commandId }) => commandId)),
    sharing: new Set(factsOf(facts, 'sharing-changed').map(({ desktop }) => desktop)),
    relayClock: relayClockWasSet(facts),
    startBy: startByOf(facts, setup),
    plain: new Set(plain.map(({ desktop }) => desktop)),
    disks: new Set(refused.map(({ where }) => where)),
    instances,
  };
}
