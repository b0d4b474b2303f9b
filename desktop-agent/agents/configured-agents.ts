/**
 * The provider of a desktop: each agent is answered by who the owner's file says, as it stands when the agent starts.
 *
 * Owns what is kept between two agents: the keys that programs printed, until the file changes. Without a file all agents
 * are answered by the script.
 */
import type { Log } from '../../protocol/ports.ts';
import type { AgentProvider, AgentReply, AgentRequest } from '../engine/agent-provider.ts';
import type { ModelKey } from '../engine/providers/model-key.ts';
import { chooseAgent } from './agent-names.ts';
import { type AgentParts, keyOf, providerOf } from './agent-providers.ts';
import { type AgentsFile, AgentsFileError, type AgentsReading } from './agents-file.ts';
import type { Agents } from './agents-schema.ts';

export const NO_FILE: Agents = { default: 'demo', agents: new Map([['demo', { type: 'scripted' }]]) };

export class ConfiguredAgents implements AgentProvider {
  readonly #file: AgentsFile;
  readonly #parts: AgentParts & { readonly log: Log };
  #version: object | null = null;
  #keys = new Map<string, ModelKey>();

  constructor(file: AgentsFile, parts: AgentParts & { readonly log: Log }) {
    this.#file = file;
    this.#parts = parts;
  }

  /** Rejects with an {@link AgentsFileError}: for a start that should fail when no agent could be answered. */
  async check(): Promise<void> {
    this.#look(await this.#file.read());
  }

  async ask(request: AgentRequest): Promise<AgentReply> {
    const agents = this.#look(await this.#readForGraph());
    const chosen = chooseAgent(agents, request.model);
    const key = this.#keys.get(chosen.name) ?? keyOf(chosen.entry, this.#parts);
    this.#keys.set(chosen.name, key);
    const { model: _name, ...rest } = request;
    const { model } = chosen;
    return providerOf(chosen, key, this.#parts).ask(model === undefined ? rest : { ...rest, model });
  }

  async #readForGraph(): Promise<AgentsReading> {
    try {
      return await this.#file.read();
    } catch (error) {
      if (!(error instanceof AgentsFileError)) throw error;
      this.#parts.log.warn('agents.broken', { reason: error.message });
      throw new Error(`this desktop's agents.json cannot be used: ${error.problem}`);
    }
  }

  #look({ agents, version }: AgentsReading): Agents {
    if (this.#version !== version) {
      this.#version = version;
      this.#keys = new Map();
      const { log } = this.#parts;
      if (agents === null) log.info('agents.scripted', { file: this.#file.path });
      else log.info('agents.read', { default: agents.default, agents: [...agents.agents.keys()] });
    }
    return agents ?? NO_FILE;
  }
}
