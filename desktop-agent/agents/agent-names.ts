/**
 * What a Graph may call its model: an agent of the owner's file, or one with another model behind a colon
 * (`local`, `local:qwen3:8b`).
 *
 * Owns the choice. A name that is none is refused with those that there are: a Graph reaches no program and no service that
 * the owner has not set up.
 */
import { cleanText } from '../../protocol/text.ts';
import { MODEL_PLACE } from '../engine/providers/command.ts';
import type { AgentEntry, Agents } from './agents-schema.ts';

export interface ChosenAgent {
  readonly name: string;
  readonly entry: AgentEntry;
  /** The model that the Graph names; undefined for the agent's own. */
  readonly model: string | undefined;
}

/** Letters, digits and what stands in names of models; no blank, and no option of a command line. */
const MODEL_NAME = /^\w[\w./:@+-]{0,199}$/;
const SHOWN_CHARS = 100;

/** Throws an error for the Graph when there is no such agent. */
export function chooseAgent({ agents, default: usual }: Agents, wanted: string | undefined): ChosenAgent {
  const name = wanted === undefined ? usual : (wanted.split(':', 1)[0] as string);
  const model = wanted?.includes(':') ? wanted.slice(name.length + 1) : undefined;
  const entry = agents.get(name);
  if (entry === undefined) throw new Error(`there is no agent ${shown(name)}. ${whatThereIs(agents)}`);
  if (model !== undefined) checkModel(name, entry, model);
  return { name, entry, model };
}

function whatThereIs(agents: Agents['agents']): string {
  const names = [...agents.keys()];
  return `This desktop has ${names.join(', ')}; "${names[0]}:MODEL" is that agent with another model`;
}

function checkModel(name: string, entry: AgentEntry, model: string): void {
  const takesModels =
    entry.type === 'command' ? entry.command.some((part) => part.includes(MODEL_PLACE)) : entry.type !== 'scripted';
  if (!takesModels) {
    const why = entry.type === 'command' ? `its command has no ${MODEL_PLACE}` : 'it is a script';
    throw new Error(`the agent "${name}" takes no other model: ${why}`);
  }
  if (!MODEL_NAME.test(model)) throw new Error(`${shown(model)} is no name of a model for the agent "${name}"`);
}

function shown(text: string): string {
  return JSON.stringify(cleanText(text, SHOWN_CHARS));
}
