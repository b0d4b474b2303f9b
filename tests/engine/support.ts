/**
 * What the engine's tests share: real ports, one run with its events, and an engine that is closed after the test.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import type { AgentProvider } from '../../desktop-agent/engine/agent-provider.ts';
import { createEngine, type EngineOptions, type GraphEngine } from '../../desktop-agent/engine/engine.ts';
import type { GraphShelf } from '../../desktop-agent/engine/graph-shelf.ts';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import type { RunningGraph, RunOutcome } from '../../desktop-agent/ports.ts';
import type { GraphEvent } from '../../desktop-agent/run-events.ts';
import type { Clock, Ports } from '../../protocol/ports.ts';

export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

const silent = (): void => undefined;

export const testPorts: Pick<Ports, 'clock' | 'ids' | 'log'> = {
  clock: realClock,
  ids: { uuid: () => randomUUID(), hex: (bytes) => randomBytes(bytes).toString('hex') },
  log: { debug: silent, info: silent, warn: silent, error: silent },
};

export interface TestRun {
  readonly commandId: string;
  readonly events: GraphEvent[];
  readonly running: RunningGraph;
  readonly done: Promise<RunOutcome>;
}

/** The body of a Graph with the smallest meta in front, on the same line. */
export function graph(body: string, metaRest = ''): string {
  return `export const meta = { name: 'Test'${metaRest} }; ${body}`;
}

export function testEngine(t: Test, options: Partial<EngineOptions> = {}): GraphEngine {
  const engine = createEngine({ ports: testPorts, provider: createScriptedProvider(), ...options });
  t.teardown(() => engine.close());
  return engine;
}

export interface StartOptions {
  readonly args?: Record<string, unknown>;
  readonly onEvent?: (event: GraphEvent, running: () => RunningGraph) => void;
  readonly name?: string;
}

export function startGraph(engine: GraphEngine, source: string, options: StartOptions = {}): TestRun {
  const events: GraphEvent[] = [];
  const commandId = randomUUID();
  const running: RunningGraph = engine.start({
    commandId,
    executionId: randomUUID(),
    channel: `graph:external:${commandId}`,
    name: options.name ?? 'test.js',
    source,
    args: options.args ?? {},
    onEvent: (event) => {
      events.push(event);
      options.onEvent?.(event, () => running);
    },
  });
  return { commandId, events, running, done: running.done };
}

export async function runGraph(
  engine: GraphEngine,
  source: string,
  options: StartOptions = {},
): Promise<RunOutcome & { commandId: string; events: GraphEvent[] }> {
  const { commandId, done, events } = startGraph(engine, source, options);
  return { commandId, ...(await done), events };
}

/** A provider that answers when the test says so. */
export function heldProvider(): AgentProvider & { readonly held: HeldAsk[]; until(count: number): Promise<void> } {
  const held: HeldAsk[] = [];
  const waiters: { count: number; resolve: () => void }[] = [];
  return {
    held,
    until: (count) =>
      held.length >= count ? Promise.resolve() : new Promise((resolve) => waiters.push({ count, resolve })),
    ask: ({ prompt, label, signal }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        held.push({ prompt, label, signal, answer: (text, tokens) => resolve({ text, tokens }), fail: reject });
        for (const waiter of waiters) if (held.length >= waiter.count) waiter.resolve();
      }),
  };
}

export interface HeldAsk {
  readonly prompt: string;
  readonly label: string;
  readonly signal: AbortSignal;
  answer(text: string, tokens: number): void;
  fail(error: unknown): void;
}

/** A shelf of these Graphs, by slug. */
export function shelfOf(sources: Readonly<Record<string, string>>): GraphShelf {
  return {
    find: async (reference) => {
      const source = Object.hasOwn(sources, reference) ? sources[reference] : undefined;
      return source === undefined ? null : { slug: reference, version: 1, name: `${reference}.js`, source };
    },
  };
}

/** What happened, one line an event: its type and what of it a test looks at. */
export function told(events: readonly GraphEvent[], ...keys: string[]): string[] {
  return events.map((event) => {
    const fields: Record<string, unknown> = { ...event };
    const shown = keys.filter((key) => key in fields).map((key) => `${key}=${JSON.stringify(fields[key])}`);
    return [event.type, ...shown].join(' ');
  });
}
