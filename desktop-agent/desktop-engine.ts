/** The engine of this desktop, as its owner set it up: who answers agents. The same for runs with and without a relay. */
import type { Ports } from '../protocol/ports.ts';
import type { AgentProvider } from './engine/agent-provider.ts';
import { createEngine, type GraphEngine } from './engine/engine.ts';
import { createCommandProvider } from './engine/providers/command.ts';
import { createScriptedProvider } from './engine/providers/scripted.ts';

/** Runs of agents that take longer have failed. */
const AGENT_TIMEOUT_MS = 10 * 60_000;

export interface DesktopEngineOptions {
  readonly ports: Ports;
  /** Program and arguments that answer agents' prompts; empty: the scripted provider. */
  readonly agentCommand: readonly string[];
  /** Keep a started sandbox for the next run. Default true. */
  readonly keepWarm?: boolean;
}

export function createDesktopEngine({ ports, agentCommand, keepWarm = true }: DesktopEngineOptions): GraphEngine {
  return createEngine({ ports, provider: providerOf(agentCommand, ports), keepWarm });
}

function providerOf(command: readonly string[], { clock }: Ports): AgentProvider {
  if (command.length === 0) return createScriptedProvider();
  return createCommandProvider({ command, timeoutMs: AGENT_TIMEOUT_MS, clock });
}
