/** The agents of a desktop as a process: its file, its environment, its way out. For composition roots. */
import { ExitError } from '../../protocol/host/exit-codes.ts';
import { dataDirectory } from '../../protocol/host/process.ts';
import type { Ports } from '../../protocol/ports.ts';
import type { AgentProvider } from '../engine/agent-provider.ts';
import { createCommandProvider } from '../engine/providers/command.ts';
import { withStructuredAnswers } from '../engine/structured-answers.ts';
import type { AgentParts } from './agent-providers.ts';
import { type AgentsFile, AgentsFileError, agentsFile } from './agents-file.ts';
import { ConfiguredAgents } from './configured-agents.ts';
import { serviceFetch } from './service-fetch.ts';

export interface OpenAgentsOptions {
  /** As on the command line. */
  readonly data: string | undefined;
  /** The program of `--agent-command`, which answers all agents; empty for what the file says. */
  readonly command: readonly string[];
  readonly ports: Pick<Ports, 'clock' | 'random' | 'log'>;
}

/** Answers of `--agent-command` that take longer have failed; an entry of the file has its own time. */
const COMMAND_TIMEOUT_MS = 10 * 60_000;

/** Ends the process when the file cannot be used: better at the start than at each agent. */
export async function openAgents({ data, command, ports }: OpenAgentsOptions): Promise<AgentProvider> {
  if (command.length > 0) {
    return withStructuredAnswers(createCommandProvider({ command, timeoutMs: COMMAND_TIMEOUT_MS, clock: ports.clock }));
  }
  const agents = new ConfiguredAgents(agentsFileOf(data), { ...machineParts(ports), log: ports.log });
  await usable(agents.check());
  return agents;
}

export function agentsFileOf(data: string | undefined): AgentsFile {
  return agentsFile(dataDirectory(data, 'desktop'));
}

export function machineParts(ports: Pick<Ports, 'clock' | 'random'>): AgentParts {
  const environment = process.env;
  return { ports, environment, fetch: serviceFetch({ clock: ports.clock, environment }) };
}

/** With a clear end of the process where the file cannot be used. */
export async function usable<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof AgentsFileError) throw new ExitError('usage', error.message, { cause: error });
    throw error;
  }
}
