/**
 * While a hostile Graph does its worst, the desktop's loop hears of a cancel on its held control, and the run ends by it.
 * No limit on speed: what blocked the thread would never let the answer in.
 */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { type Agent, createAgent } from '../../desktop-agent/agent.ts';
import type { GraphLibrary } from '../../desktop-agent/graph-library.ts';
import type { Dialer } from '../../desktop-agent/ports.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { RelayError } from '../../protocol/errors.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import type { CompleteInput, OfferedCommand, SyncAnswer } from '../../protocol/schemas.ts';
import { localSession, PROJECT, SESSION } from '../desktop/support.ts';
import { HOSTILE_GRAPHS, HOSTILE_SHELF, hostileWorld } from './hostile-graphs.ts';
import { graph, shelfOf, testEngine, testPorts } from './support.ts';

/** Resolves when somebody says so; rejects when the call is taken back. */
class Held<Value> {
  readonly #waiting: ((value: Value) => void)[] = [];
  readonly #ready: Value[] = [];

  say(value: Value): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#ready.push(value);
    else waiting(value);
  }

  get isWaitedFor(): boolean {
    return this.#waiting.length > 0;
  }

  next(signal?: AbortSignal): Promise<Value> {
    const ready = this.#ready.shift();
    if (ready !== undefined) return Promise.resolve(ready);
    return new Promise((resolve, reject) => {
      const waiting = (value: Value): void => resolve(value);
      this.#waiting.push(waiting);
      signal?.addEventListener('abort', () => {
        const at = this.#waiting.indexOf(waiting);
        if (at >= 0) this.#waiting.splice(at, 1);
        reject(new RelayError('unreachable', 'The call was taken back.'));
      });
    });
  }
}

/** A relay that holds each sync and each control until it is told what to answer. */
class HoldingRelay implements Dialer {
  readonly offers = new Held<OfferedCommand>();
  readonly stops = new Held<true>();
  readonly completions = new Held<CompleteInput>();

  async sync(input: { hold_ms: number; capacity?: number | undefined }, { signal }: { signal: AbortSignal }) {
    const answer: SyncAnswer = {
      epoch: 1,
      commands: [],
      refused_projects: [],
      hold_granted_ms: 20_000,
      next_sync_ms: 0,
    };
    if (input.hold_ms === 0) return { ...answer, hold_granted_ms: 0 };
    const offers = input.capacity === 0 ? new Held<OfferedCommand>() : this.offers;
    return { ...answer, commands: [await offers.next(signal)] };
  }

  async control(input: { phase: string }, { signal }: { signal: AbortSignal }) {
    if (input.phase === 'starting') return { cancel: false, reason: null };
    await this.stops.next(signal);
    return { cancel: true, reason: 'cancelled' as const };
  }

  async complete(input: CompleteInput) {
    this.completions.say(input);
    return { stored: true as const, already: false, sync_raised: false };
  }

  async probe() {
    return { held_ms: 0, server_now_ms: 0 };
  }
}

const relay = new HoldingRelay();
const shelf = { source: '' };
const library: GraphLibrary = {
  list: () => [localSession()],
  load: async () => ({ name: 'hello.js', source: shelf.source }),
};
/** Resolved by the first log line of the run. */
let isIn: () => void = () => undefined;

async function startAgent(): Promise<Agent> {
  const store = createMemoryState<DesktopTables>({
    tables: DESKTOP_TABLES,
    clock: testPorts.clock,
    syncDelayMs: 0,
    log: testPorts.log,
  });
  await store.commit([{ table: 'share', id: PROJECT, row: { projectId: PROJECT, sessionIds: [SESSION] } }]);
  // Nothing of the engine's own limits ends a run here before the cancel does.
  const limits = { cpuSliceMs: 600_000, stuckMarginMs: 600_000 };
  const engine = testEngine(t, { ...hostileWorld(false), graphs: shelfOf(HOSTILE_SHELF), limits });
  const agent = createAgent({
    ports: { ...testPorts, random: { next: () => 0 } },
    dialers: { 'long-poll': relay, websocket: relay, plain: relay },
    store,
    engine,
    library,
    mode: 'long-poll',
    onEvent: (_, { type }) => type === 'log' && isIn(),
  });
  const ended = agent.run();
  t.teardown(async () => {
    await agent.drain(0);
    await ended;
  });
  return agent;
}

function offer(source: string): string {
  shelf.source = source;
  const command_id = randomUUID();
  const about = { project_id: PROJECT, graph_session_id: SESSION, slug: 'hello', arguments: {}, queued_at_ms: 0 };
  relay.offers.say({ command_id, ...about });
  return command_id;
}

const agent = await startAgent();

for (const { name, source } of HOSTILE_GRAPHS) {
  t.test(`a Graph that ${name} is cancelled by the held control, and the next command runs`, async (t) => {
    const inside = new Promise<void>((resolve) => {
      isIn = resolve;
    });
    const command_id = offer(source);
    await inside;
    while (!relay.stops.isWaitedFor) await new Promise(setImmediate);
    for (let turn = 0; turn < 30; turn += 1) await new Promise(setImmediate);
    t.equal(agent.snapshot().running, 1, 'it goes on');
    relay.stops.say(true);
    t.match(await relay.completions.next(), { command_id, status: 'cancelled' });
    const next = offer(graph("log('in'); return 'fine'"));
    t.match(await relay.completions.next(), { command_id: next, status: 'completed', result: 'fine' });
  });
}
