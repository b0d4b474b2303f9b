/** A relay in virtual time, and what a desktop and an agent send to it. No desktop of ours: its words are the test's. */
import { seededIds, seededRandom } from '../../bench/sim/seeded.ts';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { TRPC_PATH } from '../../protocol/api.ts';
import { createMemoryState, type MemoryImage } from '../../protocol/host/state/memory-state.ts';
import { PLAIN_PATH } from '../../protocol/plain-contract.ts';
import type { Log, Ports } from '../../protocol/ports.ts';
import type { SharedSession } from '../../protocol/schemas.ts';
import type { AgentPrincipal, RunTicket, RunView } from '../../server/agent-api.ts';
import { createRelay, type Relay, type RelayOptions } from '../../server/relay.ts';
import { RELAY_TABLES, type RelayTables } from '../../server/rows.ts';

export const SECOND = 1_000;
export const HOUR = 3_600 * SECOND;
export const DAY = 24 * HOUR;
export const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes.
  readonly body: any;
}

export interface TestRelay {
  readonly clock: VirtualClock;
  readonly ports: Ports;
  readonly relay: Relay;
  /** Tokens of the desktops, by place. */
  readonly desktops: readonly string[];
  readonly agent: AgentPrincipal;
  readonly otherAgent: AgentPrincipal;
  readonly agentToken: string;
  /** Puts the call of a desktop through the relay's own handler. Does not move the clock. */
  readonly trpc: (call: string, input: object, from?: From) => Promise<Answer>;
  readonly plain: (call: string, input: object | string, from?: From) => Promise<Answer>;
  /** Lets virtual time pass until the promise has settled. */
  readonly settle: <T>(promise: Promise<T>) => Promise<T>;
  /** Makes the disk refuse writes, with this reason, until it is called with null. */
  readonly refuseWrites: (reason: string | null) => void;
  /** A kill: what a new relay would find on its disk. */
  readonly crash: () => MemoryImage;
  /** The disk refuses from now on, for this reason. */
  readonly failWrites: (reason: string | null) => void;
}

export interface From {
  readonly desktop?: number;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

export interface TestRelayOptions {
  readonly desktops?: number;
  readonly projects?: readonly string[];
  readonly diskMs?: number;
  readonly seed?: number;
  readonly log?: Log;
  readonly limits?: RelayOptions['limits'];
  /** The disk of a relay that was killed, with its tokens. */
  readonly after?: { readonly image: MemoryImage; readonly of: TestRelay };
}

export const PROJECT = 'home';

export async function createTestRelay(options: TestRelayOptions = {}): Promise<TestRelay> {
  const { projects = [PROJECT], seed = 1, after } = options;
  const clock = after?.of.clock ?? new VirtualClock();
  const random = seededRandom(seed);
  const ports: Ports = { clock, random, ids: seededIds(random), log: options.log ?? SILENT };
  const store = createMemoryState<RelayTables>({
    tables: RELAY_TABLES,
    clock,
    syncDelayMs: options.diskMs ?? 0,
    ...(after && { restore: after.image }),
  });
  const relay = createRelay({ ports, store, ...(options.limits && { limits: options.limits }) });
  const token = async (kind: 'agent' | 'desktop', name: string) =>
    (await clock.settle(relay.access.createToken({ kind, name, projects: kind === 'agent' ? projects : [] }))).token;
  const agentTokens = after ? null : [await token('agent', 'first'), await token('agent', 'second')];
  const desktops = after
    ? after.of.desktops
    : await madeInOrder(options.desktops ?? 1, (n) => token('desktop', `d${n}`));
  const agent = after ? after.of.agent : relay.access.agentOf(agentTokens![0]!)!;
  const otherAgent = after ? after.of.otherAgent : relay.access.agentOf(agentTokens![1]!)!;

  const post = async (path: string, body: object | string, from: From = {}): Promise<Answer> => {
    const response = await relay.fetch(
      new Request(`http://relay.test${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${desktops[from.desktop ?? 0]}`,
          'content-type': 'application/json',
          ...from.headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...(from.signal && { signal: from.signal }),
      }),
    );
    return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) };
  };
  return {
    clock,
    ports,
    relay,
    desktops,
    agent,
    otherAgent,
    agentToken: after?.of.agentToken ?? agentTokens![0]!,
    trpc: (call, input, from) => post(`${TRPC_PATH}/relay.${call}`, input, from),
    plain: (call, input, from) => post(`${PLAIN_PATH}/${call}`, input, from),
    settle: (promise) => clock.settle(promise),
    refuseWrites: (reason) => store.failWrites(reason),
    crash: () => store.crash(),
    failWrites: (reason) => store.failWrites(reason),
  };
}

async function madeInOrder<T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let n = 1; n <= count; n++) made.push(await make(n));
  return made;
}

/** The n-th shared session of a test, from 1. */
export function session(n: number, changes: Partial<SharedSession> = {}): SharedSession {
  const graph_session_id = `gs_${String(n).padStart(32, '0')}`;
  const graph = { name: `Graph ${n}`, description: '', slug: `graph-${n}`, version: 1, status: 'ready' } as const;
  return { graph_session_id, ...graph, ...changes };
}

export function uuid(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}

/** A sync of version 2, not held, with room for one command. */
export function syncInput(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const projects = [{ project_id: PROJECT, sessions: [session(1)] }];
  return { instance_id: uuid(900), projects, holding: [], capacity: 1, hold_ms: 0, ...changes };
}

let keys = 0;

export function startRun(
  world: TestRelay,
  request: { n?: number; key?: string; arguments?: object; start_within_seconds?: number; agent?: AgentPrincipal } = {},
): Promise<RunTicket> {
  const { n = 1, key = `key-of-the-test-${++keys}`, agent = world.agent, arguments: args = {} } = request;
  const start = request.start_within_seconds;
  return world.settle(
    world.relay.agents.runSession(agent, {
      graph_session_id: session(n).graph_session_id,
      arguments: args as Record<string, unknown>,
      idempotency_key: key,
      ...(start === undefined ? {} : { start_within_seconds: start }),
    }),
  );
}

export function readRun(world: TestRelay, command_id: string, agent = world.agent): Promise<RunView> {
  const signal = new AbortController().signal;
  return world.settle(world.relay.agents.getRun(agent, { command_id, waitMs: 0, signal }));
}
