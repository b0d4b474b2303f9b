/** The engine of this desktop, as its owner set it up. The same for runs with and without a relay. */
import type { Ports } from '../protocol/ports.ts';
import type { AgentProvider } from './engine/agent-provider.ts';
import { createEngine, type GraphEngine } from './engine/engine.ts';
import type { EngineLimits } from './engine/engine-limits.ts';
import type { GraphShelf } from './engine/graph-shelf.ts';
import type { ToolHost } from './engine/tool-host.ts';

export interface DesktopEngineOptions {
  readonly ports: Ports;
  /** Who answers agents: `agents/open-agents.ts` makes it. */
  readonly provider: AgentProvider;
  /** Graphs that a Graph may call. */
  readonly graphs: GraphShelf;
  /** Who calls tools. */
  readonly tools: ToolHost;
  /** What the owner allows each run, where it differs from the usual. */
  readonly limits: Partial<EngineLimits>;
  /** Keep a started sandbox for the next run. Default true. */
  readonly keepWarm?: boolean;
}

export function createDesktopEngine({ keepWarm = true, ...parts }: DesktopEngineOptions): GraphEngine {
  return createEngine({ ...parts, keepWarm });
}
