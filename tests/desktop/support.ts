/**
 * A desktop on a virtual clock before a relay that is a script: what it is told is set, and what it says is written down.
 */
import { seededIds, seededRandom } from '../../bench/sim/seeded.ts';
import { createTimedEngine } from '../../bench/sim/timed-engine.ts';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { type Agent, createAgent } from '../../desktop-agent/agent.ts';
import type { GraphLibrary, LocalSession } from '../../desktop-agent/graph-library.ts';
import type { ModeName } from '../../desktop-agent/modes.ts';
import type { CallOptions, Dialer, GraphRun, RunOutcome } from '../../desktop-agent/ports.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { RelayError } from '../../protocol/errors.ts';
import { createMemoryState, type MemoryImage, type MemoryState } from '../../protocol/host/state/memory-state.ts';
import type { LogFields, Ports } from '../../protocol/ports.ts';
import type {
  CompleteAnswer,
  CompleteInput,
  ControlAnswer,
  ControlInput,
  OfferedCommand,
  ProbeAnswer,
  SyncAnswer,
  SyncInput,
} from '../../protocol/schemas.ts';
import { pause } from '../../protocol/waiting.ts';

export const PROJECT = 'home';
export const SESSION = 'gs_0123456789abcdef0123456789abcdef';

export interface Call {
  readonly at: number;
  readonly sync?: SyncInput;
  readonly control?: ControlInput;
  readonly complete?: CompleteInput;
}

let commands = 0;
let starts = 0;

export function command(changes: Partial<OfferedCommand> = {}): OfferedCommand {
  const command_id = `00000000-0000-4000-8000-${String(++commands).padStart(12, '0')}`;
  const base = { command_id, project_id: PROJECT, graph_session_id: SESSION, slug: 'hello', arguments: {} };
  return { ...base, queued_at_ms: 0, ...changes };
}

/** The relay, as a script. A script that is set comes before the usual answer; undefined means the usual one. */
export class ScriptedRelay implements Dialer {
  readonly calls: Call[] = [];
  readonly #clock: VirtualClock;
  readonly #queued: OfferedCommand[] = [];
  readonly #stops = new Map<string, ControlAnswer>();
  #news = new Set<() => void>();
  onSync: (input: SyncInput, signal: AbortSignal) => Promise<SyncAnswer | undefined> = async () => undefined;
  onControl: (input: ControlInput, signal: AbortSignal) => Promise<ControlAnswer | undefined> = async () => undefined;
  onComplete: (input: CompleteInput, signal: AbortSignal) => Promise<CompleteAnswer | undefined> = async () =>
    undefined;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  get syncs(): (SyncInput & { at: number })[] {
    return this.calls.flatMap(({ at, sync }) => (sync ? { ...sync, at } : []));
  }

  get controls(): (ControlInput & { at: number })[] {
    return this.calls.flatMap(({ at, control }) => (control ? { ...control, at } : []));
  }

  get completions(): (CompleteInput & { at: number })[] {
    return this.calls.flatMap(({ at, complete }) => (complete ? { ...complete, at } : []));
  }

  async probe(): Promise<ProbeAnswer> {
    return { held_ms: 0, server_now_ms: this.#clock.now() };
  }

  /** Questions whether a command of ours may start: without the rehearsal of a command that nobody knows. */
  acks(commandId: string): (ControlInput & { at: number })[] {
    return this.controls.filter((c) => c.phase === 'starting' && c.command_id === commandId);
  }

  offer(...offered: OfferedCommand[]): void {
    this.#queued.push(...offered);
    this.#tell();
  }

  stop(commandId: string, reason: ControlAnswer['reason'] = 'cancelled'): void {
    this.#stops.set(commandId, { cancel: true, reason });
    this.#tell();
  }

  answer(offered: OfferedCommand[] = [], holdMs = 0): SyncAnswer {
    const nextMs = holdMs > 0 ? 0 : 20_000;
    return { epoch: 1, commands: offered, refused_projects: [], hold_granted_ms: holdMs, next_sync_ms: nextMs };
  }

  async sync(input: SyncInput, { signal }: CallOptions): Promise<SyncAnswer> {
    this.calls.push({ at: this.#clock.monotonic(), sync: input });
    const scripted = await this.onSync(input, signal);
    if (scripted) return scripted;
    const due = () => this.#queued.splice(0, input.capacity);
    let offered = due();
    if (offered.length > 0 || input.hold_ms === 0) return this.answer(offered, input.hold_ms);
    await this.#hold(input.hold_ms, signal, () => {
      offered = due();
      return offered.length > 0;
    });
    return this.answer(offered, input.hold_ms);
  }

  async control(input: ControlInput, { signal }: CallOptions): Promise<ControlAnswer> {
    this.calls.push({ at: this.#clock.monotonic(), control: input });
    const scripted = await this.onControl(input, signal);
    if (scripted) return scripted;
    const told = () => this.#stops.get(input.command_id);
    if (input.hold_ms > 0) await this.#hold(input.hold_ms, signal, () => told() !== undefined);
    return told() ?? { cancel: false, reason: null };
  }

  async complete(input: CompleteInput, { signal }: CallOptions): Promise<CompleteAnswer> {
    this.calls.push({ at: this.#clock.monotonic(), complete: input });
    return (await this.onComplete(input, signal)) ?? { stored: true, already: false, sync_raised: false };
  }

  #tell(): void {
    for (const look of [...this.#news]) look();
  }

  async #hold(holdMs: number, signal: AbortSignal, news: () => boolean): Promise<void> {
    const over = new AbortController();
    const look = () => void (!signal.aborted && news() && over.abort());
    const gone = () => over.abort();
    this.#news.add(look);
    signal.addEventListener('abort', gone, { once: true });
    if (signal.aborted) gone();
    look();
    await pause(this.#clock, holdMs, over.signal);
    this.#news.delete(look);
    if (signal.aborted) throw new RelayError('unreachable', 'The call was taken back.');
  }
}

export interface Ran {
  readonly commandId: string;
  readonly at: number;
  endedAt: number | null;
  status: RunOutcome['status'] | null;
}

export interface DesktopOptions {
  readonly mode?: ModeName;
  readonly slots?: number;
  readonly runMs?: number;
  readonly syncDelayMs?: number;
  readonly shared?: boolean;
  /** Called when a Graph starts. */
  readonly onRun?: (run: GraphRun) => void;
}

export interface Desktop {
  readonly clock: VirtualClock;
  readonly ports: Ports;
  readonly relay: ScriptedRelay;
  readonly agent: Agent;
  readonly store: MemoryState<DesktopTables>;
  readonly library: FakeLibrary;
  /** Every start of a Graph, in order, over all restarts. */
  readonly ran: Ran[];
  readonly lines: { level: string; event: string; fields: LogFields }[];
  readonly ended: Promise<string>;
  readonly options: DesktopOptions;
}

export class FakeLibrary implements GraphLibrary {
  sessions: LocalSession[] = [localSession()];
  /** Called when a Graph is about to be read. */
  onLoad: () => void = () => {};

  list(): readonly LocalSession[] {
    return this.sessions;
  }

  async load(id: string) {
    this.onLoad();
    const session = this.sessions.find(({ graph_session_id }) => graph_session_id === id);
    return session ? { name: session.file_name, source: '' } : null;
  }
}

export function localSession(changes: Partial<LocalSession> = {}): LocalSession {
  const shown = { graph_session_id: SESSION, name: 'Hello', description: '', slug: 'hello', version: 1 };
  return { ...shown, status: 'ready', file_name: 'hello.js', problem: null, ...changes };
}

interface Carried {
  readonly clock: VirtualClock;
  readonly relay: ScriptedRelay;
  readonly library: FakeLibrary;
  readonly ran: Ran[];
  readonly restore: MemoryImage;
}

/** A desktop that has started and, unless told otherwise, is connected and waits. */
export async function startDesktop(options: DesktopOptions = {}, dialerOf?: (clock: VirtualClock) => Dialer) {
  const desktop = assemble(options, null, dialerOf);
  const row = { projectId: PROJECT, sessionIds: [SESSION] };
  if (options.shared !== false) {
    await desktop.clock.settle(desktop.store.commit([{ table: 'share', id: PROJECT, row }]));
  }
  return begin(desktop);
}

/** The process is killed, and another one starts from what was on disk. */
export async function restartDesktop(killed: Desktop, changes: DesktopOptions = {}): Promise<Desktop> {
  const { clock, relay, library, ran, store, options } = killed;
  return begin(assemble({ ...options, ...changes }, { clock, relay, library, ran, restore: store.crash() }));
}

async function begin(desktop: Desktop): Promise<Desktop> {
  const ended = desktop.agent.run();
  // It writes down that it starts before it says a word.
  await desktop.clock.advance(desktop.options.syncDelayMs ?? 0);
  return { ...desktop, ended };
}

function assemble(
  options: DesktopOptions,
  carried: Carried | null,
  dialerOf?: (clock: VirtualClock) => Dialer,
): Desktop {
  const clock = carried?.clock ?? new VirtualClock();
  const relay = carried?.relay ?? new ScriptedRelay(clock);
  const library = carried?.library ?? new FakeLibrary();
  const ran = carried?.ran ?? [];
  const lines: Desktop['lines'] = [];
  const write =
    (level: string) =>
    (event: string, fields: LogFields = {}) =>
      void lines.push({ level, event, fields });
  const log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  // Full jitter at its worst, so that pauses are the bounds themselves.
  const random = { next: () => 0.999_999 };
  const ids = seededIds(seededRandom(++starts));
  const ports: Ports = { clock, random, ids, log };
  const store = createMemoryState<DesktopTables>({
    tables: DESKTOP_TABLES,
    clock,
    syncDelayMs: options.syncDelayMs ?? 0,
    log,
    ...(carried ? { restore: carried.restore } : {}),
  });
  const engine = createTimedEngine({
    clock,
    runMs: () => options.runMs ?? 1_000,
    onStart(run) {
      ran.push({ commandId: run.commandId, at: clock.monotonic(), endedAt: null, status: null });
      options.onRun?.(run);
    },
    onEnd: ({ commandId }, { status }) => {
      const run = ran.findLast((r) => r.commandId === commandId)!;
      run.endedAt = clock.monotonic();
      run.status = status;
    },
  });
  const dialer = dialerOf?.(clock) ?? relay;
  const { mode = 'long-poll', slots = 1 } = options;
  const dialers = { 'long-poll': dialer, websocket: dialer, plain: dialer };
  const agent = createAgent({ ports, dialers, store, engine, library, mode, slots });
  return { clock, ports, relay, agent, store, library, ran, lines, ended: Promise.resolve(''), options };
}

export function ids(ran: readonly Ran[]): string[] {
  return ran.map(({ commandId }) => commandId);
}
