/** Which file a person means: a Graph of this desktop by slug, id or file name, or else a path. */
import { readFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { ExitError } from '../../../protocol/host/exit-codes.ts';
import type { GraphLibrary, LocalSession } from '../../graph-library.ts';
import { type OwnerOptions, withAdmin } from './admin.ts';

export interface GraphFolder {
  readonly folder: string;
  readonly sessions: readonly LocalSession[];
}

export function graphFolderOf(options: OwnerOptions): Promise<GraphFolder> {
  return withAdmin(options, async (admin) => ({ folder: await admin.graphFolder(), sessions: await admin.sessions() }));
}

export function fileNamed(wanted: string, { folder, sessions }: GraphFolder): string {
  const found = sessions.filter(
    ({ slug, graph_session_id, file_name }) => wanted === slug || wanted === graph_session_id || wanted === file_name,
  );
  const [only] = found;
  return only !== undefined && found.length === 1 ? join(folder, only.file_name) : resolve(wanted);
}

export async function readGraph(file: string, { sessions }: GraphFolder): Promise<{ name: string; source: string }> {
  try {
    return { name: basename(file), source: await readFile(file, 'utf8') };
  } catch (error) {
    const known = sessions.map(({ slug }) => slug).join(', ') || 'none yet';
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new ExitError(
      'failure',
      `${file} cannot be read (${reason}). Name a file, or a Graph of this desktop: ${known}.`,
    );
  }
}

/** The Graphs of the folder, for runs in this process. */
export function filesOf({ folder, sessions }: GraphFolder): GraphLibrary {
  return {
    list: () => sessions,
    async load(graphSessionId) {
      const session = sessions.find(({ graph_session_id }) => graph_session_id === graphSessionId);
      if (session === undefined) return null;
      const source = await readFile(join(folder, session.file_name), 'utf8').catch(() => null);
      return source === null ? null : { name: session.file_name, source };
    },
  };
}

/** As short as it is from here. */
export function shownPath(file: string): string {
  const fromHere = relative('.', file);
  return fromHere.startsWith('..') ? file : fromHere;
}
