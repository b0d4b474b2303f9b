/**
 * The Graph engine: runs saved Graphs in sandboxes and asks agents for them.
 *
 * Owns which runs exist, and their end when the engine closes. What a run may take is in `engine-limits.ts`, one run is
 * in `graph-execution.ts`.
 */
import type { Ports } from '../../protocol/ports.ts';
import type { Engine, GraphRun, RunningGraph } from '../ports.ts';
import type { AgentProvider } from './agent-provider.ts';
import { DEFAULT_ENGINE_LIMITS, type EngineLimits } from './engine-limits.ts';
import { GraphExecution } from './graph-execution.ts';
import { EMPTY_SHELF, type GraphShelf } from './graph-shelf.ts';
import { SandboxPool } from './sandbox-pool.ts';
import { NO_TOOLS, type ToolHost } from './tool-host.ts';

export interface EngineOptions {
  readonly ports: Pick<Ports, 'clock' | 'ids' | 'log'>;
  readonly provider: AgentProvider;
  /** Who calls tools. Default: there are none. */
  readonly tools?: ToolHost;
  /** Where the Graphs are that a Graph may call. Default: there are none. */
  readonly graphs?: GraphShelf;
  /** What differs from {@link DEFAULT_ENGINE_LIMITS}. */
  readonly limits?: Partial<EngineLimits>;
  /** Keep one started sandbox for the next run (about 15 MB, or 20 MB when Node strips types in it). Default true. */
  readonly keepWarm?: boolean;
}

/** How long `close` waits for providers that do not let go. Then their work is left behind. */
const CLOSE_GRACE_MS = 5_000;

const CLOSED = 'the desktop is stopping';

export interface GraphEngine extends Engine {
  /** Workers that live, the warm one included: for status and tests. */
  livingSandboxes(): number;
  /** Resolves when the next run would find a warm sandbox, or none is kept. */
  warmedUp(): Promise<void>;
}

export function createEngine(options: EngineOptions): GraphEngine {
  const { ports, provider, tools = NO_TOOLS, graphs = EMPTY_SHELF } = options;
  const limits = { ...DEFAULT_ENGINE_LIMITS, ...options.limits };
  const pool = new SandboxPool({ clock: ports.clock, limits, keepWarm: options.keepWarm ?? true });
  const executions = new Set<GraphExecution>();
  let closed = false;
  pool.warmUp();

  function start(run: GraphRun): RunningGraph {
    const execution = new GraphExecution(run, { ports, provider, tools, graphs, limits, pool });
    executions.add(execution);
    void execution.done.then(() => execution.released()).then(() => executions.delete(execution));
    // Not before the caller has the handle: events come after `start` has returned.
    queueMicrotask(() => {
      if (closed) execution.cancel(CLOSED);
      else execution.begin();
    });
    const { done } = execution;
    return { done, cancel: (reason) => execution.cancel(reason), openRetries: () => execution.openRetries() };
  }

  async function close(): Promise<void> {
    closed = true;
    for (const execution of executions) execution.cancel(CLOSED);
    const released = Promise.all([...executions].map((execution) => execution.released()));
    await new Promise<void>((resolve) => {
      const timer = ports.clock.after(CLOSE_GRACE_MS, resolve);
      void released.then(() => {
        timer.cancel();
        resolve();
      });
    });
    await pool.close();
  }

  return { start, close, livingSandboxes: () => pool.living, warmedUp: () => pool.warmedUp() };
}
