/**
 * The desktop, put together: ports, dialer, store and engine in, a loop out.
 *
 * Owns the order of starting and stopping. Knows no transport, no file and no clock of its own.
 */
import { HOLD_MAX_MS } from '../protocol/limits.ts';
import type { Ports, StateStore } from '../protocol/ports.ts';
import { pause } from '../protocol/waiting.ts';
import { type ExecutionIds, ExecutionJournal } from './execution-journal.ts';
import type { GraphLibrary } from './graph-library.ts';
import { recordStart } from './instances.ts';
import type { ModeName, RelayMode } from './modes.ts';
import { Outbox } from './outbox.ts';
import { type PathProbe, type PathWatch, watchPath } from './path-watch.ts';
import { Pausing } from './pausing.ts';
import type { Engine, RunOutcome } from './ports.ts';
import { Recovery } from './recovery.ts';
import { type LoopEnd, RelayLoop } from './relay-loop.ts';
import { type DesktopTables, type EndRow, LAST_END, type OutboxRow } from './rows.ts';
import type { GraphEvent } from './run-events.ts';
import { Runner } from './runner.ts';
import { Sharing } from './sharing.ts';
import { type Dialers, type TransportSnapshot, Transports } from './transports.ts';

export interface AgentOptions {
  readonly ports: Ports;
  readonly dialers: Dialers;
  readonly store: StateStore<DesktopTables>;
  readonly engine: Engine;
  readonly library: GraphLibrary;
  /** `auto` unless the owner holds the desktop to one transport, or the bench to a mode of its own. */
  readonly mode?: ModeName | RelayMode;
  /** What tells one network from another; without it, only a sleep is noticed. */
  readonly network?: PathProbe;
  /** Runs at once; 1 unless the owner raises it. */
  readonly slots?: number;
  /** Longest hold to ask for; the contract's longest unless the owner wants shorter ones. */
  readonly holdMs?: number;
  readonly onEvent?: (commandId: string, event: GraphEvent) => void;
  /** A run that the process before this one began has got its end. */
  readonly onSettled?: (ids: ExecutionIds, outcome: RunOutcome) => void;
}

export interface AgentSnapshot {
  readonly transport: TransportSnapshot;
  readonly connected: boolean;
  readonly trouble: string | null;
  readonly epoch: number | null;
  /** The request that waits at the relay, ISO 8601 and milliseconds; null between two. */
  readonly held: { readonly since: string; readonly hold_ms: number } | null;
  readonly running: number;
  /** Since when the owner has it paused, ISO 8601; null while it takes commands. */
  readonly paused_since: string | null;
  readonly limits: { readonly slots: number; readonly hold_ms: number };
  readonly holding: readonly string[];
  readonly outbox: { readonly pending: number; readonly refused: readonly OutboxRow[] };
  readonly refusedProjects: readonly { project_id: string; reason: string }[];
}

export interface Agent {
  readonly sharing: Sharing;
  readonly pausing: Pausing;
  /** Runs until it is drained or the relay refuses this desktop for good. */
  run(): Promise<LoopEnd>;
  /** Takes nothing new, lets runs finish for up to `graceMs`, then stops them. Resolves when all is written down. */
  drain(graceMs: number): Promise<void>;
  /** The Graph folder has changed: tell the relay what is shared now. */
  libraryChanged(): void;
  /** The machine is about to sleep. Resolves with whether the relay knows, within a second or so. */
  asleep(): Promise<boolean>;
  /** It is awake again, as the system says; without a word the desktop finds out within seconds. */
  awake(): void;
  snapshot(): AgentSnapshot;
}

export function createAgent(options: AgentOptions): Agent {
  const { ports, store, engine, library, dialers, mode = 'auto', slots = 1, holdMs = HOLD_MAX_MS } = options;
  const transports = new Transports({ ports, dialers, mode, maxHoldMs: holdMs });
  const { dialer } = transports;
  const outbox = new Outbox({ ports, store, dialer, retryByItself: !transports.mode.takesAll });
  const journal = new ExecutionJournal({ store, ports });
  const sharing = new Sharing({ store, library, onChange: () => loop.wake('sharing-changed') });
  const pausing = new Pausing({ store, clock: ports.clock, onChange: () => pauseChanged() });
  const runner: Runner = new Runner({
    ports,
    journal,
    dialer,
    engine,
    library,
    sharing,
    outbox,
    mode: () => transports.mode,
    slots: () => (pausing.since === null ? slots : 0),
    epoch: () => loop.state.epoch,
    onSlotFreed: () => loop.wake('slot-freed'),
    onCapacityTold: (capacity) => loop.capacityTold(capacity),
    onEvent: options.onEvent ?? (() => {}),
  });
  const instanceId = ports.ids.uuid();
  const recovery = new Recovery({
    ports,
    journal,
    outbox,
    dialer,
    onSettled: options.onSettled ?? (() => {}),
    onForgotten: () => loop.wake('recovered'),
  });
  let predecessors: readonly string[] = [];
  const loop: RelayLoop = new RelayLoop({
    ports,
    transports,
    instanceId,
    predecessors: () => predecessors,
    recovery,
    sharing,
    pausing,
    runner,
    outbox,
  });

  function pauseChanged(): void {
    ports.log.info(pausing.since === null ? 'desktop.resumed' : 'desktop.paused');
    if (pausing.since !== null) runner.giveBack();
    loop.wake('pause-changed');
  }

  let ended: Promise<unknown> = Promise.resolve();
  let path: PathWatch | null = null;

  function run(): Promise<LoopEnd> {
    const end = runLoop();
    ended = end.catch(() => {});
    return end;
  }

  async function runLoop(): Promise<LoopEnd> {
    if (store.rows('end').has(LAST_END)) writeEnd(null);
    predecessors = await recordStart(store, instanceId);
    path = watchPath(ports.clock, options.network ?? (() => ''), (reason) => loop.wake(reason));
    const end = await loop.run();
    path.stop();
    path = null;
    transports.stop();
    recovery.stop();
    runner.stopTaking();
    if (end !== 'stopped') {
      writeEnd({ code: end, reason: loop.state.trouble ?? '', at: ports.clock.now() });
      runner.cancelAll(`The relay refused this desktop (${end}).`);
    }
    return end;
  }

  /** For an owner who looks later. Nobody waits for it: a disk that refuses is told of elsewhere. */
  function writeEnd(row: EndRow | null): void {
    store.commit([{ table: 'end', id: LAST_END, row }]).catch(() => {});
  }

  async function drain(graceMs: number): Promise<void> {
    runner.stopTaking();
    recovery.stop();
    loop.wake('stop');
    const graceOver = new AbortController();
    await Promise.race([runner.idle(), pause(ports.clock, graceMs, graceOver.signal)]);
    graceOver.abort();
    runner.cancelAll('The desktop was stopped during the run.');
    await runner.idle();
    await outbox.settled();
    // The loop's last word to the relay is on its way.
    await ended;
    outbox.stop();
    await engine.close();
    await store.synced();
  }

  function awake(): void {
    // One look settles it: the next one must not take the same sleep for another, and give up the new connection.
    if (!path?.look()) loop.wake('woke');
  }

  function snapshot(): AgentSnapshot {
    const { connected, trouble, epoch, refusedProjects } = loop.state;
    return {
      transport: transports.snapshot(),
      connected,
      trouble,
      epoch: epoch ?? null,
      held: loop.held && { since: new Date(loop.held.since).toISOString(), hold_ms: loop.held.holdMs },
      running: runner.activeRuns,
      paused_since: pausing.since === null ? null : new Date(pausing.since).toISOString(),
      limits: { slots, hold_ms: holdMs },
      holding: runner.holding(),
      outbox: { pending: outbox.pending().length, refused: outbox.refused() },
      refusedProjects,
    };
  }

  const asleep = () => loop.sleep();
  return { sharing, pausing, run, drain, snapshot, asleep, awake, libraryChanged: () => loop.wake('sharing-changed') };
}
