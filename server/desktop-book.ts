/**
 * The desktops: which instance of each is live, what it shares, what it holds, and when it was last heard of.
 *
 * Owns the rows of table `desktop`, and presence, which lives in memory only: after a restart a desktop is as online
 * as its next request proves.
 */
import type { TransportName } from '../protocol/api.ts';
import { getOrMake } from '../protocol/collections.ts';
import { RelayError } from '../protocol/errors.ts';
import { PRESENCE_MS } from '../protocol/limits.ts';
import type { Clock, StateStore } from '../protocol/ports.ts';
import type { SharedSession } from '../protocol/schemas.ts';
import type { DesktopPresence } from './agent-api.ts';
import type { DesktopRow, RelayTables, SharedProject } from './rows.ts';

/** How many replaced instances are remembered. A desktop that was started this often since is not waiting any more. */
const REPLACED_MAX = 32;

interface Contact {
  /** Wall clock, to show. */
  readonly at: number;
  /** Monotonic, to measure. */
  readonly monotonic: number;
  readonly transport: TransportName;
  /** Wall clock: since when it has been there without a break. */
  readonly since: number;
  /** Its last word, when that was a goodbye. */
  readonly goodbye: HeardGoodbye | null;
  /** Its connection has died since, without a word. */
  readonly silent: boolean;
}

interface Goodbye {
  readonly instanceId: string;
  readonly why: 'stopping' | 'asleep';
}

interface HeardGoodbye extends Goodbye {
  /** Wall clock, to show. */
  readonly at: number;
}

/** A session as it is shared with one project. */
export interface Offering {
  readonly desktopId: string;
  readonly projectId: string;
  readonly session: SharedSession;
}

export class DesktopBook {
  readonly #store: StateStore<RelayTables>;
  readonly #clock: Clock;
  readonly #contacts = new Map<string, Contact>();
  readonly #holding = new Map<string, ReadonlySet<string>>();
  /** project → session → offering. */
  readonly #shared = new Map<string, Map<string, Offering>>();
  /** Epochs that the disk may not have yet. */
  readonly #unconfirmed = new Map<string, number>();
  readonly #startedAt: number;

  constructor(options: { store: StateStore<RelayTables>; clock: Clock }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#startedAt = options.clock.monotonic();
    for (const row of this.#store.rows('desktop').values()) this.#index(null, row);
  }

  /**
   * Lets an instance in. A new one gets a higher epoch and replaces the one before; one that was replaced is refused
   * with `session-replaced`, and so is one of the `predecessors`, which have ended though a sync of theirs may be late.
   * `durable` resolves when no restart can take the epoch back.
   */
  admit(
    desktopId: string,
    instanceId: string,
    predecessors: readonly string[] = [],
  ): { row: DesktopRow; replacedOther: boolean; durable: Promise<void> } {
    const row = this.#row(desktopId);
    if (row.instanceId === instanceId) return { row, replacedOther: false, durable: this.#confirm(row, null) };
    if (row.replaced.includes(instanceId)) {
      throw new RelayError(
        'session-replaced',
        'A newer instance of this desktop has connected, so this one must stop. If both are meant to run, give each a desktop token of its own.',
      );
    }
    const replaced = new Set([...row.replaced, ...predecessors, ...(row.instanceId === null ? [] : [row.instanceId])]);
    replaced.delete(instanceId);
    const next: DesktopRow = {
      ...row,
      instanceId,
      replaced: [...replaced].slice(-REPLACED_MAX),
      epoch: row.epoch + 1,
    };
    this.#unconfirmed.set(desktopId, next.epoch);
    return { row: next, replacedOther: true, durable: this.#confirm(next, this.#put(row, next)) };
  }

  /** Waits for the write of this epoch, or for the one that repeats it when the disk had refused. */
  async #confirm({ desktopId, epoch }: DesktopRow, written: Promise<void> | null): Promise<void> {
    if (this.#unconfirmed.get(desktopId) !== epoch) return;
    await (written ?? this.#store.synced());
    if (this.#unconfirmed.get(desktopId) === epoch) this.#unconfirmed.delete(desktopId);
  }

  /** Takes over what the desktop shares. False when nothing has changed. */
  share(desktopId: string, projects: readonly SharedProject[]): boolean {
    const row = this.#row(desktopId);
    if (JSON.stringify(row.projects) === JSON.stringify(projects)) return false;
    // Nobody waits for this to be on disk: the next sync brings it again.
    this.#put(row, { ...row, projects }).catch(() => {});
    return true;
  }

  /** Takes over what the desktop shares with one project, and leaves the others alone. False when nothing has changed. */
  shareProject(desktopId: string, project: SharedProject): boolean {
    const others = this.#row(desktopId).projects.filter(({ project_id }) => project_id !== project.project_id);
    const projects = project.sessions.length === 0 ? others : [...others, project];
    return this.share(
      desktopId,
      projects.sort((a, b) => (a.project_id < b.project_id ? -1 : 1)),
    );
  }

  /** Something was heard of the desktop. One that has said goodbye stays away all the same: it finishes what it has. */
  contact(desktopId: string, transport: TransportName): void {
    this.#heard(desktopId, transport, this.#contacts.get(desktopId)?.goodbye ?? null);
  }

  /** The desktop asks for work, so it is there (again). */
  arrived(desktopId: string, transport: TransportName): void {
    this.#heard(desktopId, transport, null);
  }

  /** The desktop's last word. */
  left(desktopId: string, transport: TransportName, goodbye: Goodbye): void {
    this.#heard(desktopId, transport, { ...goodbye, at: this.#clock.now() });
  }

  /** Whether this instance has said that it stops. A request of it that comes later was overtaken on its way. */
  hasStopped(desktopId: string, instanceId: string): boolean {
    const goodbye = this.#contacts.get(desktopId)?.goodbye;
    return goodbye?.why === 'stopping' && goodbye.instanceId === instanceId;
  }

  #heard(desktopId: string, transport: TransportName, goodbye: HeardGoodbye | null): void {
    const before = this.#contacts.get(desktopId);
    const at = this.#clock.now();
    const since = before !== undefined && this.#isOnline(before) ? before.since : at;
    const contact = { at, monotonic: this.#clock.monotonic(), transport, since, goodbye, silent: false };
    this.#contacts.set(desktopId, contact);
  }

  /** The WebSocket that it used is dead. One that has come by another way since is none the less there. */
  fellSilent(desktopId: string): void {
    const contact = this.#contacts.get(desktopId);
    if (contact?.transport === 'websocket') this.#contacts.set(desktopId, { ...contact, silent: true });
  }

  #isOnline({ monotonic, goodbye, silent }: Contact): boolean {
    return goodbye === null && !silent && this.#clock.monotonic() - monotonic < PRESENCE_MS;
  }

  /** What the desktop said that it has, in its last sync. */
  setHolding(desktopId: string, commandIds: readonly string[]): void {
    this.#holding.set(desktopId, new Set(commandIds));
  }

  isHolding(desktopId: string, commandId: string): boolean {
    return this.#holding.get(desktopId)?.has(commandId) ?? false;
  }

  /** Milliseconds since the last contact, or since the relay started when there was none. */
  silentMs(desktopId: string): number {
    return this.#clock.monotonic() - (this.#contacts.get(desktopId)?.monotonic ?? this.#startedAt);
  }

  presence(desktopId: string): DesktopPresence {
    const contact = this.#contacts.get(desktopId);
    if (!contact) return { online: false, since: null, transport: null, asleep: null, last_seen_at: null };
    const online = this.#isOnline(contact);
    const { goodbye } = contact;
    return {
      online,
      since: online ? new Date(contact.since).toISOString() : null,
      transport: online ? contact.transport : null,
      asleep: online ? false : goodbye === null ? null : goodbye.why === 'asleep',
      ...(goodbye?.why === 'asleep' && { asleep_since: new Date(goodbye.at).toISOString() }),
      last_seen_at: new Date(contact.at).toISOString(),
    };
  }

  epoch(desktopId: string): number {
    return this.#row(desktopId).epoch;
  }

  /** The sessions that are shared with a project, in a stable order. */
  sessions(projectId: string): Offering[] {
    return [...(this.#shared.get(projectId)?.values() ?? [])];
  }

  /** The session as it is shared with the first of these projects that has it. */
  find(projectIds: readonly string[], graphSessionId: string): Offering | null {
    for (const projectId of projectIds) {
      const offering = this.#shared.get(projectId)?.get(graphSessionId);
      if (offering) return offering;
    }
    return null;
  }

  #row(desktopId: string): DesktopRow {
    const row = this.#store.rows('desktop').get(desktopId);
    return row ?? { desktopId, epoch: 0, instanceId: null, replaced: [], projects: [] };
  }

  #put(before: DesktopRow, row: DesktopRow): Promise<void> {
    const durable = this.#store.commit([{ table: 'desktop', id: row.desktopId, row }]);
    this.#index(before, row);
    return durable;
  }

  #index(before: DesktopRow | null, row: DesktopRow): void {
    if (before?.projects === row.projects) return;
    for (const { project_id } of before?.projects ?? []) {
      const sessions = this.#shared.get(project_id);
      for (const [id, offering] of sessions ?? []) if (offering.desktopId === row.desktopId) sessions?.delete(id);
    }
    for (const { project_id, sessions } of row.projects) {
      const shared = getOrMake(this.#shared, project_id, () => new Map<string, Offering>());
      for (const session of sessions) {
        shared.set(session.graph_session_id, { desktopId: row.desktopId, projectId: project_id, session });
      }
    }
  }
}
