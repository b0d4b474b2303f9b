/**
 * The file with the owner's agents: `agents.json` in the desktop's data folder.
 *
 * Owns reading it, and what is told when it cannot be used. It is read again when it has changed, so an agent that starts
 * after a change finds the new state; a file that is broken then fails those agents with its problem, instead of being
 * answered by what the owner has just taken out. It is never written.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseExpressionAt } from 'acorn';
import { cleanText } from '../../protocol/text.ts';
import { type Agents, agentsSchema, keyPlace } from './agents-schema.ts';

export const AGENTS_FILE = 'agents.json';

const PROBLEMS_SHOWN = 3;
const NEXT = '"graph-relay desktop agents" checks it';

/** The file is there and cannot be used. */
export class AgentsFileError extends Error {
  override readonly name = 'AgentsFileError';
  /** What is wrong, without the path: for a Graph, which has no business with the owner's folders. */
  readonly problem: string;

  constructor(path: string, problem: string) {
    super(`${path} cannot be used: ${problem}. Correct it; ${NEXT}.`);
    this.problem = problem;
  }
}

export interface AgentsReading {
  /** Null when there is no file. */
  readonly agents: Agents | null;
  /** The same object as long as the file has not changed. */
  readonly version: object;
}

export interface AgentsFile {
  readonly path: string;
  /** Rejects with an {@link AgentsFileError}. */
  read(): Promise<AgentsReading>;
}

export function agentsFile(directory: string): AgentsFile {
  const path = join(directory, AGENTS_FILE);
  let last: { readonly stamp: string; readonly reading: Promise<AgentsReading> } | null = null;

  async function read(): Promise<AgentsReading> {
    const stamp = await stampOf(path);
    if (last?.stamp !== stamp) last = { stamp, reading: readNow(path) };
    return last.reading;
  }

  return { path, read };
}

/** Changes when the file does: saved in place, replaced, made or removed. */
async function stampOf(path: string): Promise<string> {
  try {
    const { mtimeMs, ctimeMs, size, ino } = await stat(path);
    return `${mtimeMs} ${ctimeMs} ${size} ${ino}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable';
  }
}

async function readNow(path: string): Promise<AgentsReading> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { agents: null, version: {} };
    throw new AgentsFileError(path, `it cannot be read (${cleanText(error, 200)})`);
  }
  return { agents: parseAgents(path, text), version: {} };
}

export function parseAgents(path: string, text: string): Agents {
  const value = parseJson(path, text.replace(/^\ufeff/, ''));
  const key = keyPlace(value);
  if (key !== null) {
    throw new AgentsFileError(
      path,
      `${key} looks like a key, and keys do not belong into this file. Put it into an environment variable and name that with api_key_env, or have key_command print it`,
    );
  }
  const found = agentsSchema.safeParse(value);
  if (found.success) return found.data;
  const problems = found.error.issues.map(({ path: place, message }) => `${place.join('.') || 'the file'}: ${message}`);
  throw new AgentsFileError(path, problems.slice(0, PROBLEMS_SHOWN).join('; '));
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AgentsFileError(path, `it is not JSON${placeIn(text, (error as Error).message)}`);
  }
}

/** The runtime's own message shows a piece of the text, in which a key may stand: only a place is taken from it. */
function placeIn(text: string, message: string): string {
  const position = /position (\d+)/.exec(message)?.[1] ?? notEvenScript(text);
  if (position === null)
    return ', though nearly: texts need double quotes, and there are no comments and no commas at the end';
  const before = text.slice(0, Number(position)).split('\n');
  return ` from line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1} on`;
}

/** Where the text is no JavaScript either; null when it is. The runtime does not always say where JSON ends. */
function notEvenScript(text: string): number | null {
  try {
    parseExpressionAt(text, 0, { ecmaVersion: 'latest' });
    return null;
  } catch (error) {
    return (error as { pos?: number }).pos ?? 0;
  }
}
