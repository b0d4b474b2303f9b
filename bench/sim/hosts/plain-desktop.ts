/**
 * A desktop that somebody else wrote to the published plain contract: three JSON calls and nothing more.
 *
 * Owns what such a program does: a pass each 20 s with one sync for each project, the commands of a pass one after
 * another, a control before and every 3 s during a run, and a report that is on disk before it is posted and is posted
 * until it is taken. It keeps no journal of what it runs. Must use nothing of `desktop-agent/`: what is shared with our
 * own desktop could not show that the contract is enough.
 */
import type { Clock, Ids, StateStore } from '../../../protocol/ports.ts';
import { pause, Wakeable } from '../../../protocol/waiting.ts';

const POLL_MS = 20_000;
const CONTROL_MS = 3_000;
const DISK_MS = 1_000;

export interface PlainSession {
  readonly graph_session_id: string;
  readonly name: string;
  readonly description: string;
  readonly slug: string;
  readonly version: number;
  readonly status: string;
}

interface PlainCommand {
  readonly command_id: string;
  readonly project_id: string;
  readonly graph_session_id: string;
  readonly slug: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** What is posted to `/complete`. */
type Report = Readonly<Record<string, unknown>> & { readonly command_id: string; readonly execution_id: string };

/** How a run ended, as `/complete` wants it. */
export type PlainOutcome = Readonly<Record<string, unknown>> & { readonly status: string };

export interface PlainRun {
  readonly done: Promise<PlainOutcome>;
  cancel(): void;
}

export type PlainTables = {
  project: { readonly project_id: string; readonly sessions: readonly string[] };
  report: Report;
};
export const PLAIN_TABLES: readonly (keyof PlainTables)[] = ['project', 'report'];

export type PlainCall = 'sync' | 'control' | 'complete';

/** The relay's answer; null when none came. */
export type PlainAnswer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> } | null;

export interface PlainDesktopOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  /** Whether it names its start in each sync, which the contract leaves open. */
  readonly namesInstance: boolean;
  readonly store: StateStore<PlainTables>;
  readonly sessions: () => readonly PlainSession[];
  readonly post: (call: PlainCall, body: object, signal: AbortSignal) => Promise<PlainAnswer>;
  readonly start: (command: PlainCommand, executionId: string) => PlainRun;
}

/** Refusals of the desktop itself: nothing that it tries again can help. */
const FINAL: readonly unknown[] = ['session-replaced', 'unauthorized', 'forbidden', 'unsupported-protocol'];

export class PlainDesktop {
  readonly #options: PlainDesktopOptions;
  readonly #instance: object;
  readonly #wakeable: Wakeable;
  readonly #stopping = new AbortController();
  readonly #graceOver = new AbortController();
  #ended: Promise<unknown> = Promise.resolve();
  #changed = false;

  constructor(options: PlainDesktopOptions) {
    this.#options = options;
    this.#instance = options.namesInstance ? { instance_id: options.ids.uuid() } : {};
    this.#wakeable = new Wakeable(options.clock);
  }

  run(): Promise<string> {
    const end = this.#passes();
    this.#ended = end.catch(() => {});
    return end;
  }

  async drain(graceMs: number): Promise<void> {
    const { clock, store } = this.#options;
    this.#stopping.abort();
    this.#wakeable.wake();
    const ended = new AbortController();
    await Promise.race([this.#ended, pause(clock, graceMs, ended.signal)]);
    ended.abort();
    this.#graceOver.abort();
    await this.#ended;
    await store.synced();
  }

  share(projectId: string, sessionId: string): Promise<void> {
    return this.#tick(projectId, (sessions) => [...sessions.filter((id) => id !== sessionId), sessionId].sort());
  }

  unshare(projectId: string, sessionId: string): Promise<void> {
    return this.#tick(projectId, (sessions) => sessions.filter((id) => id !== sessionId));
  }

  /** What is shared has changed: the next pass comes now, or after the one that goes on. */
  changed(): void {
    this.#changed = true;
    this.#wakeable.wake();
  }

  #tick(projectId: string, change: (sessions: readonly string[]) => readonly string[]): Promise<void> {
    const { store } = this.#options;
    const sessions = change(store.rows('project').get(projectId)?.sessions ?? []);
    // A project whose last session is gone stays on the list: the relay has to hear that nothing is shared any more.
    const written = store.commit([{ table: 'project', id: projectId, row: { project_id: projectId, sessions } }]);
    this.changed();
    return written;
  }

  async #passes(): Promise<string> {
    const { clock } = this.#options;
    const start = clock.monotonic();
    while (!this.#stopping.signal.aborted) {
      this.#changed = false;
      const end = await this.#pass();
      if (end !== null) return end;
      if (this.#stopping.signal.aborted) break;
      const sinceTick = (clock.monotonic() - start) % POLL_MS;
      await this.#wakeable.pause(this.#changed ? 0 : POLL_MS - sinceTick);
    }
    return 'stopped';
  }

  /** Resolves with the code of a refusal that ends the program, or with null. */
  async #pass(): Promise<string | null> {
    await this.#postReports();
    const commands: PlainCommand[] = [];
    for (const { project_id, sessions: ids } of [...this.#options.store.rows('project').values()]) {
      const sessions = this.#options.sessions().filter(({ graph_session_id }) => ids.includes(graph_session_id));
      const input = { project_id, sessions, ...this.#instance };
      const answer = await this.#options.post('sync', input, this.#stopping.signal);
      const code = codeOf(answer);
      if (FINAL.includes(code)) return String(code);
      if (answer?.status === 200) commands.push(...(answer.body.commands as PlainCommand[]));
    }
    for (const command of commands) {
      if (this.#stopping.signal.aborted) break;
      await this.#perform(command);
    }
    return null;
  }

  async #perform(command: PlainCommand): Promise<void> {
    const { ids, start } = this.#options;
    const named = { command_id: command.command_id, execution_id: ids.uuid() };
    const may = this.#isShared(command) ? await this.#mayStart(named) : false;
    if (may === null) return;
    if (!may || !this.#isShared(command)) return this.#report({ ...named, status: 'cancelled', error: 'not started' });
    const run = start(command, named.execution_id);
    const cancel = () => run.cancel();
    this.#graceOver.signal.addEventListener('abort', cancel, { once: true });
    const over = new AbortController();
    void this.#watch(named, run, over.signal);
    const outcome = await run.done;
    over.abort();
    this.#graceOver.signal.removeEventListener('abort', cancel);
    await this.#report({ ...named, ...outcome });
  }

  #isShared({ project_id, graph_session_id, slug }: PlainCommand): boolean {
    const { sessions, store } = this.#options;
    const ticked = store.rows('project').get(project_id)?.sessions.includes(graph_session_id) ?? false;
    return (
      ticked && sessions().some((session) => session.graph_session_id === graph_session_id && session.slug === slug)
    );
  }

  /** Asks until there is an answer. Null: the program stops, or this will never be answered. */
  async #mayStart(named: Report): Promise<boolean | null> {
    const { clock, post } = this.#options;
    while (!this.#stopping.signal.aborted) {
      const answer = await post('control', named, this.#stopping.signal);
      if (answer?.status === 200) return answer.body.cancel !== true;
      if (answer !== null && isFinal(answer.status)) return null;
      await pause(clock, CONTROL_MS, this.#stopping.signal);
    }
    return null;
  }

  async #watch(named: Report, run: PlainRun, over: AbortSignal): Promise<void> {
    const { clock, post } = this.#options;
    for (;;) {
      await pause(clock, CONTROL_MS, over);
      if (over.aborted) return;
      const answer = await post('control', named, over);
      if (answer?.status !== 200 || answer.body.cancel !== true) continue;
      if (!over.aborted) run.cancel();
      return;
    }
  }

  async #report(report: Report): Promise<void> {
    const { clock, store } = this.#options;
    const never = new AbortController().signal;
    let written = store.commit([{ table: 'report', id: report.execution_id, row: report }]);
    while (
      !(await written.then(
        () => true,
        () => false,
      ))
    ) {
      await pause(clock, DISK_MS, never);
      written = store.synced();
    }
    await this.#post(report);
  }

  /** The next pass tries again what does not get through now. */
  async #postReports(): Promise<void> {
    for (const report of [...this.#options.store.rows('report').values()]) {
      if (this.#stopping.signal.aborted || !(await this.#post(report))) return;
    }
  }

  /** False when nobody is there. */
  async #post(report: Report): Promise<boolean> {
    const { post, store } = this.#options;
    const answer = await post('complete', report, this.#graceOver.signal);
    if (answer !== null && (answer.status === 200 || isFinal(answer.status))) {
      store.commit([{ table: 'report', id: report.execution_id, row: null }]).catch(() => {});
    }
    return answer !== null;
  }
}

/** Anything but what the contract says to try again. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 401 && status !== 429;
}

function codeOf(answer: PlainAnswer): unknown {
  return (answer?.body.error as { code?: unknown } | undefined)?.code;
}
