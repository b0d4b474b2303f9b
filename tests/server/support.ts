/**
 * A relay on a virtual clock with a store in memory, called as a desktop calls it: raw HTTP requests with tRPC's plain
 * form, no client of ours in between. Chance gives 0, so a hold of 20 s ends after exactly 19.75 s.
 */
import { seededIds, seededRandom } from '../../bench/sim/seeded.ts';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { createMemoryState, type MemoryImage, type MemoryState } from '../../protocol/host/state/memory-state.ts';
import type { LogFields, Ports } from '../../protocol/ports.ts';
import type {
  CompleteAnswer,
  CompleteInput,
  ControlAnswer,
  ControlInput,
  SharedSession,
  SyncAnswer,
  SyncInput,
} from '../../protocol/schemas.ts';
import type { AgentPrincipal, RunRequest, RunTicket, RunView } from '../../server/agent-api.ts';
import { createRelay, type Relay } from '../../server/relay.ts';
import { type CommandRow, RELAY_TABLES, type RelayTables } from '../../server/rows.ts';

export const PROJECT = 'home';
export const SESSION = 'gs_0123456789abcdef0123456789abcdef';
export const OTHER_SESSION = 'gs_ffffffffffffffffffffffffffffffff';
export const NOBODY = '99999999-9999-4999-8999-999999999999';
export const HOLD_MS = 20_000;

export interface Line {
  readonly level: string;
  readonly event: string;
  readonly fields: LogFields;
}

export interface Reply<A> {
  readonly status: number;
  /** The answer; null when the call was refused. */
  readonly data: A | null;
  readonly error: { readonly message: string; readonly data: { readonly relayCode: string } } | null;
  readonly headers: Headers;
  readonly text: string;
}

/** A promise that can be looked at. */
export interface Pending<T> {
  readonly promise: Promise<T>;
  value: T | null;
}

export function pending<T>(promise: Promise<T>): Pending<T> {
  const watched: Pending<T> = { promise, value: null };
  promise.then(
    (value) => {
      watched.value = value;
    },
    () => {},
  );
  return watched;
}

export function session(changes: Partial<SharedSession> = {}): SharedSession {
  const base = { graph_session_id: SESSION, name: 'Hello', description: '', slug: 'hello', version: 1 };
  return { ...base, status: 'ready', ...changes };
}

export interface SiteOptions {
  readonly restore?: MemoryImage;
  readonly clock?: VirtualClock;
  readonly syncDelayMs?: number;
}

export interface Site {
  readonly clock: VirtualClock;
  readonly store: MemoryState<RelayTables>;
  readonly relay: Relay;
  readonly ports: Ports;
  readonly lines: Line[];
}

/** A relay as it is right after its process has started. */
export function openSite(options: SiteOptions = {}): Site {
  const { clock = new VirtualClock(), syncDelayMs = 0, restore } = options;
  const lines: Line[] = [];
  const write =
    (level: string) =>
    (event: string, fields: LogFields = {}) =>
      void lines.push({ level, event, fields });
  const log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  const ids = seededIds(seededRandom(restore ? 2 : 1));
  const ports: Ports = { clock, random: { next: () => 0 }, ids, log };
  const store = createMemoryState<RelayTables>({
    tables: RELAY_TABLES,
    clock,
    syncDelayMs,
    log,
    ...(restore === undefined ? {} : { restore }),
  });
  return { clock, store, ports, lines, relay: createRelay({ ports, store }) };
}

/** The process is killed, and another one starts from what was on disk. The clock goes on. */
export function restarted({ store, clock }: Site, options: SiteOptions = {}): Site {
  return openSite({ clock, restore: store.crash(), ...options });
}

export async function newAgent(site: Site, name = 'agent', projects = [PROJECT]) {
  const { token } = await site.clock.settle(site.relay.access.createToken({ kind: 'agent', name, projects }));
  return { token, agent: site.relay.access.agentOf(token)! };
}

export async function newDesk(site: Site, name = 'desktop'): Promise<Desk> {
  const { token, row } = await site.clock.settle(site.relay.access.createToken({ kind: 'desktop', name }));
  return new Desk({ site, token, desktopId: row.subjectId, instance: site.ports.ids.uuid() });
}

/** One start of a desktop, as raw requests. */
export class Desk {
  readonly site: Site;
  readonly token: string;
  readonly desktopId: string;
  readonly instance: string;
  readonly executions = new Map<string, string>();

  constructor(given: { site: Site; token: string; desktopId: string; instance: string }) {
    this.site = given.site;
    this.token = given.token;
    this.desktopId = given.desktopId;
    this.instance = given.instance;
  }

  /** The same process before another relay, or another process of the same desktop. */
  at(site: Site, instance = this.instance): Desk {
    return new Desk({ site, token: this.token, desktopId: this.desktopId, instance });
  }

  newInstance(): Desk {
    return this.at(this.site, this.site.ports.ids.uuid());
  }

  execution(commandId: string): string {
    let id = this.executions.get(commandId);
    if (id === undefined) {
      id = this.site.ports.ids.uuid();
      this.executions.set(commandId, id);
    }
    return id;
  }

  post<A>(call: string, input: unknown, init: RequestInit = {}): Promise<Reply<A>> {
    const headers = { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' };
    const body = JSON.stringify(input);
    const request = new Request(`http://relay.test/trpc/relay.${call}`, { method: 'POST', headers, body, ...init });
    return this.site.relay.fetch(request).then((response) => replyOf<A>(response));
  }

  /** A sync that is sent and may be held. */
  send(changes: Partial<SyncInput> = {}, signal?: AbortSignal): Promise<Reply<SyncAnswer>> {
    const projects = [{ project_id: PROJECT, sessions: [session()] }];
    const input = { instance_id: this.instance, projects, holding: [], capacity: 1, hold_ms: 0, ...changes };
    return this.post<SyncAnswer>('sync', input, signal ? { signal } : {});
  }

  sync(changes: Partial<SyncInput> = {}): Promise<Reply<SyncAnswer>> {
    return this.site.clock.settle(this.send(changes));
  }

  /** Sends a sync that is held, and lets it arrive. */
  async hold(changes: Partial<SyncInput> = {}, signal?: AbortSignal): Promise<Pending<Reply<SyncAnswer>>> {
    const held = pending(this.send({ hold_ms: HOLD_MS, ...changes }, signal));
    await this.site.clock.advance(0);
    return held;
  }

  ask(commandId: string, changes: Partial<ControlInput> = {}): Promise<Reply<ControlAnswer>> {
    const ids = { command_id: commandId, execution_id: this.execution(commandId) };
    return this.post<ControlAnswer>('control', { ...ids, phase: 'starting', hold_ms: 0, ...changes });
  }

  control(commandId: string, changes: Partial<ControlInput> = {}): Promise<Reply<ControlAnswer>> {
    return this.site.clock.settle(this.ask(commandId, changes));
  }

  report(commandId: string, changes: Partial<CompleteInput> = {}): Promise<Reply<CompleteAnswer>> {
    const ids = { command_id: commandId, execution_id: this.execution(commandId) };
    return this.post<CompleteAnswer>('complete', { ...ids, status: 'completed', ...changes });
  }

  complete(commandId: string, changes: Partial<CompleteInput> = {}): Promise<Reply<CompleteAnswer>> {
    return this.site.clock.settle(this.report(commandId, changes));
  }
}

async function replyOf<A>(response: Response): Promise<Reply<A>> {
  const text = await response.text();
  const json = JSON.parse(text) as { result?: { data: A }; error?: Reply<A>['error'] };
  const { status, headers } = response;
  return { status, headers, text, data: json.result?.data ?? null, error: json.error ?? null };
}

export function offeredIds(reply: Reply<SyncAnswer> | null): string[] | null {
  return reply?.data?.commands.map(({ command_id }) => command_id) ?? null;
}

let keys = 0;

export function runRequest(changes: Partial<RunRequest> = {}): RunRequest {
  return { graph_session_id: SESSION, arguments: {}, idempotency_key: `key-number-${++keys}`, ...changes };
}

export function queue(site: Site, agent: AgentPrincipal, changes: Partial<RunRequest> = {}): Promise<RunTicket> {
  return site.clock.settle(site.relay.agents.runSession(agent, runRequest(changes)));
}

export function read(site: Site, agent: AgentPrincipal, commandId: string): Promise<RunView> {
  const request = { command_id: commandId, waitMs: 0, signal: new AbortController().signal };
  return site.clock.settle(site.relay.agents.getRun(agent, request));
}

export function cancel(site: Site, agent: AgentPrincipal, commandId: string): Promise<RunView> {
  return site.clock.settle(site.relay.agents.cancelRun(agent, { command_id: commandId }));
}

export function rowOf(site: Site, commandId: string): CommandRow {
  const row = site.store.rows('command').get(commandId);
  if (row === undefined) throw new Error(`there is no command ${commandId}`);
  return row;
}

/** A relay, one agent, and one desktop that has synced once and shares {@link SESSION} with {@link PROJECT}. */
export async function connectedSite(options: SiteOptions = {}) {
  const site = openSite(options);
  const { agent, token } = await newAgent(site);
  const desk = await newDesk(site);
  await desk.sync();
  await site.clock.settle(site.store.synced());
  return { site, agent, agentToken: token, desk };
}

/** A run that its desktop has taken and begun. */
export async function startedRun(given: { site: Site; agent: AgentPrincipal; desk: Desk }): Promise<string> {
  const { command_id } = await queue(given.site, given.agent);
  await given.desk.sync();
  await given.desk.control(command_id);
  return command_id;
}
