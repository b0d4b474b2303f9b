/**
 * The one loop that owns the connection to the relay. Everything else only wakes it.
 *
 * Owns: what a sync says, when the next one goes out, and which errors end the desktop. A pass is one sync with its
 * answer. Only the own stop flag and the final errors end the loop; everything else is tried again.
 */
import type { TransportName } from '../protocol/api.ts';
import { Backoff } from '../protocol/backoff.ts';
import { asRelayError, type ErrorCode, type RelayError } from '../protocol/errors.ts';
import type { Ports } from '../protocol/ports.ts';
import type { SyncAnswer, SyncInput } from '../protocol/schemas.ts';
import { Wakeable } from '../protocol/waiting.ts';
import { MachineSleep } from './machine-sleep.ts';
import { capacityIn } from './modes.ts';
import type { Outbox } from './outbox.ts';
import type { Pausing } from './pausing.ts';
import type { Recovery } from './recovery.ts';
import type { Runner } from './runner.ts';
import type { Sharing } from './sharing.ts';
import type { Transports } from './transports.ts';

/** Why the loop looks up from what it is doing. */
export type WakeReason =
  | 'sharing-changed'
  | 'pause-changed'
  | 'slot-freed'
  | 'recovered'
  | 'woke'
  | 'network-changed'
  | 'stop';

/** The request that is on its way says something else, though not more capacity. */
const ALWAYS_NEWS: ReadonlySet<WakeReason> = new Set(['recovered', 'pause-changed']);

/** Why the loop ended. Codes are the relay's final errors. */
export type LoopEnd = 'stopped' | (typeof FINAL)[number];

/** Errors that end the desktop: trying again cannot help, and somebody has to do something. */
const FINAL = ['session-replaced', 'unauthorized', 'forbidden', 'unsupported-protocol'] as const satisfies ErrorCode[];

/** The last word may take this long. Longer: the end of the desktop, or the sleep of its machine, waits for a relay that is not there. */
const GOODBYE_MS = 1_000;

export interface RelayLoopOptions {
  readonly ports: Ports;
  readonly transports: Transports;
  readonly instanceId: string;
  /** Earlier starts of this desktop, the latest first. */
  readonly predecessors: () => readonly string[];
  readonly recovery: Recovery;
  readonly sharing: Sharing;
  readonly pausing: Pausing;
  readonly runner: Runner;
  readonly outbox: Outbox;
}

export interface LoopState {
  readonly connected: boolean;
  readonly epoch: number | undefined;
  readonly refusedProjects: SyncAnswer['refused_projects'];
  /** The last error, for a person; null while all is well. */
  readonly trouble: string | null;
}

export class RelayLoop {
  readonly #options: RelayLoopOptions;
  readonly #wakeable: Wakeable;
  readonly #backoff: Backoff;
  readonly #sleep: MachineSleep;
  #state: LoopState = { connected: false, epoch: undefined, refusedProjects: [], trouble: null };
  /** The sync on its way: what it says, and how to take it back. */
  #request: { said: SyncInput; abort: AbortController; sentAt: number } | null = null;
  /** The transport that brought the last answer. Another one is not trusted with a hold, which hides that nobody is there. */
  #answeredOver: TransportName | null = null;
  #stopping = false;

  constructor(options: RelayLoopOptions) {
    this.#options = options;
    this.#wakeable = new Wakeable(options.ports.clock);
    this.#backoff = new Backoff(options.ports.random);
    this.#sleep = new MachineSleep(options.ports.clock);
  }

  get state(): LoopState {
    return this.#state;
  }

  /** The sync that is on its way: since when (epoch milliseconds), and how long the relay may keep it. Null between two. */
  get held(): { readonly since: number; readonly holdMs: number } | null {
    return this.#request && { since: this.#request.sentAt, holdMs: this.#request.said.hold_ms };
  }

  /** Looks again. A sync that is on its way and would say something else now is taken back and sent anew. */
  wake(reason: WakeReason): void {
    if (reason === 'stop') this.#stopping = true;
    if (reason === 'woke') this.#sleep.end();
    else this.#sleep.nudge();
    const pathChanged = reason === 'woke' || reason === 'network-changed';
    if (pathChanged) {
      this.#answeredOver = null;
      this.#options.transports.pathChanged(reason);
    }
    // On ticks, only the owner's change of sharing is worth a pass of its own, as in the published system.
    const isOfLoop = reason === 'slot-freed' || reason === 'recovered';
    if (this.#options.transports.mode.tickMs !== null && isOfLoop) return;
    const said = this.#request?.said;
    if (said === undefined) this.#wakeable.wake();
    else if (this.#stopping || pathChanged || ALWAYS_NEWS.has(reason) || this.#isStale(said))
      this.#request?.abort.abort();
  }

  /** The held sync was told of free slots by a completion: it does not have to be sent again for that. */
  capacityTold(capacity: number): void {
    if (this.#request) this.#request.said = { ...this.#request.said, capacity };
  }

  async run(): Promise<LoopEnd> {
    const { clock } = this.#options.ports;
    const { tickMs } = this.#options.transports.mode;
    const start = clock.monotonic();
    while (!this.#stopping) {
      await this.#sleep.over(() => this.#stopping);
      if (this.#stopping) break;
      const result = await this.#pass();
      if (this.#stopping) break;
      if (typeof result === 'string') return result;
      const sinceTick = tickMs === null ? 0 : (clock.monotonic() - start) % tickMs;
      await this.#wakeable.pause(tickMs === null ? result : tickMs - sinceTick);
    }
    await this.#sayGoodbye();
    return 'stopped';
  }

  /**
   * The machine is about to sleep: nothing is asked for until it wakes, and callers see where it is. Resolves with
   * whether the relay knows.
   */
  async sleep(): Promise<boolean> {
    this.#sleep.announce();
    this.#request?.abort.abort();
    this.#state = { ...this.#state, connected: false, trouble: 'this machine is about to sleep' };
    const told = await this.#lastWord('asleep');
    this.#options.ports.log.info('machine.sleeps', { told });
    // It was kept awake meanwhile, and its word may have come after the sync that says so.
    if (!this.#sleep.announced) this.#request?.abort.abort();
    return told;
  }

  /** So that callers see at once that nobody is here, and the relay puts nothing into a request that was given up. */
  async #sayGoodbye(): Promise<void> {
    if (this.#state.connected || this.#sleep.announced) await this.#lastWord('stopping');
  }

  /** True when the relay has heard it. */
  async #lastWord(leaving: 'stopping' | 'asleep'): Promise<boolean> {
    const { transports, ports } = this.#options;
    const late = new AbortController();
    const timer = ports.clock.after(GOODBYE_MS, () => late.abort());
    try {
      await transports.dialer.sync({ ...this.#input(), hold_ms: 0, leaving }, { signal: late.signal });
      return true;
    } catch (error) {
      ports.log.debug('relay.goodbye-failed', { leaving, code: asRelayError(error).code });
      return false;
    } finally {
      timer.cancel();
    }
  }

  /** One sync. Resolves with the pause before the next one, in milliseconds, or with the end of the loop. */
  async #pass(): Promise<number | LoopEnd> {
    const { transports, runner, outbox, ports } = this.#options;
    transports.beforeSync();
    const { mode } = transports;
    if (mode.takesAll) await outbox.flush();
    const abort = new AbortController();
    const request = { said: this.#input(), abort, sentAt: ports.clock.now() };
    this.#request = request;
    const sentAt = ports.clock.monotonic();
    try {
      const answer = await transports.dialer.sync(request.said, { signal: abort.signal });
      this.#request = null;
      this.#answeredOver = mode.name;
      transports.syncAnswered(ports.clock.monotonic() - sentAt);
      this.#answered(answer);
      if (mode.takesAll) await runner.idle();
      const holdsNext = request.said.hold_ms < transports.mode.holdMs;
      // An answer at once says nothing of holds: where each hold is cut soon, the pauses must go on growing.
      if (!holdsNext) this.#backoff.reset();
      return holdsNext ? 0 : answer.next_sync_ms;
    } catch (error) {
      this.#request = null;
      if (abort.signal.aborted) return 0;
      const relayError = asRelayError(error);
      const asked = { heldMs: ports.clock.monotonic() - sentAt, holdMs: request.said.hold_ms };
      const { holdCut, otherWay } = transports.syncFailed(relayError, asked);
      this.#answeredOver = null;
      const next = holdCut ? this.#holdCut(relayError, asked.heldMs) : this.#failed(relayError);
      return otherWay && typeof next === 'number' ? 0 : next;
    }
  }

  #input(): SyncInput {
    const { instanceId, sharing, pausing, runner, transports } = this.#options;
    const { mode } = transports;
    const predecessors = this.#state.epoch === undefined ? [...this.#options.predecessors()] : [];
    return {
      instance_id: instanceId,
      ...(predecessors.length === 0 ? {} : { predecessors }),
      projects: sharing.projectsForSync(),
      holding: runner.holding(),
      capacity: this.#stopping || pausing.since !== null ? 0 : capacityIn(mode, runner.freeSlots()),
      // The first sync is not held: a desktop is connected when it has an answer, not when it has sent something.
      hold_ms: this.#answeredOver === mode.name ? mode.holdMs : 0,
    };
  }

  /** What `holding` says does not make a sync stale: the relay needs it only when it looks for lost offers. */
  #isStale(said: SyncInput): boolean {
    const now = this.#input();
    return now.capacity > said.capacity || JSON.stringify(now.projects) !== JSON.stringify(said.projects);
  }

  #answered(answer: SyncAnswer): void {
    const { ports, runner, outbox, pausing } = this.#options;
    const reconnected = !this.#state.connected;
    this.#state = { connected: true, epoch: answer.epoch, refusedProjects: answer.refused_projects, trouble: null };
    if (reconnected) {
      ports.log.info('relay.connected', { epoch: answer.epoch, hold_granted_ms: answer.hold_granted_ms });
      void outbox.flush();
      void this.#rehearse();
      this.#options.recovery.begin(answer.epoch);
    }
    // What was on its way when the owner paused: the next sync does not list it, so the relay has it back.
    if (pausing.since === null) runner.accept(answer.commands);
  }

  /**
   * Asks for a command that does not exist, once per connection. The held sync keeps one connection busy; this opens the
   * second one that the ack of a pickup needs, and lets both sides compile that path before somebody waits for it.
   */
  async #rehearse(): Promise<void> {
    const { transports, ports } = this.#options;
    if (transports.mode.takesAll) return;
    const nobody = { command_id: ports.ids.uuid(), execution_id: ports.ids.uuid() };
    try {
      await transports.dialer.control(
        { ...nobody, phase: 'starting', hold_ms: 0 },
        { signal: new AbortController().signal },
      );
    } catch (error) {
      ports.log.debug('relay.rehearsal-failed', { code: asRelayError(error).code });
    }
  }

  /** The relay was there when the hold began, and a cut says nothing else: no reason to call the desktop offline. */
  #holdCut({ code, message }: RelayError, afterMs: number): number {
    const retry_in_ms = this.#backoff.next();
    this.#options.ports.log.info('relay.hold-cut', {
      code,
      reason: message,
      after_ms: Math.round(afterMs),
      retry_in_ms,
    });
    return retry_in_ms;
  }

  #failed(error: RelayError): number | LoopEnd {
    const { log } = this.#options.ports;
    const { code, message } = error;
    const wasConnected = this.#state.connected;
    this.#state = { ...this.#state, connected: false, trouble: message };
    const final = FINAL.find((each) => each === code);
    if (final !== undefined) {
      log.error('relay.refused', { code, reason: message });
      return final;
    }
    const pauseMs = this.#backoff.next();
    const line = { code, reason: message, retry_in_ms: pauseMs };
    if (wasConnected) log.warn('relay.disconnected', line);
    else log.debug('relay.retrying', line);
    return pauseMs;
  }
}
