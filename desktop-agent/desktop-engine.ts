/** The engine of this desktop, as its owner set it up. The same for runs with and without a relay. */
import type { Ports } from '../protocol/ports.ts';
import type { AgentProvider } from './engine/agent-provider.ts';
import { createEngine, type GraphEngine } from './engine/engine.ts';

export interface DesktopEngineOptions {
  readonly ports: Ports;
  /** Who answers agents: `agents/open-agents.ts` makes it. */
  readonly provider: AgentProvider;
  /** Keep a started sandbox for the next run. Default true. */
  readonly keepWarm?: boolean;
}

export function createDesktopEngine({ ports, provider, keepWarm = true }: DesktopEngineOptions): GraphEngine {
  return createEngine({ ports, provider, keepWarm });
}
