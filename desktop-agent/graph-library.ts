/**
 * The Graphs of this desktop, as sessions. A port: the folder adapter is in `folder-library.ts`, the simulation has one
 * in memory.
 */
import { basename } from 'node:path';
import type { SharedSession } from '../protocol/schemas.ts';

/** A Graph that is about to run. */
export interface LoadedGraph {
  readonly name: string;
  readonly source: string;
}

export interface GraphLibrary {
  /** All sessions as they are known now, in a stable order. */
  list(): readonly LocalSession[];
  /** The Graph's text as it is at this moment; null when it is gone or does not parse. */
  load(graphSessionId: string): Promise<LoadedGraph | null>;
}

export interface LocalSession extends SharedSession {
  readonly file_name: string;
  /** Why it does not parse, with line and column; null when it does. */
  readonly problem: string | null;
}

/** The part of a session that goes to the relay. */
export function sharedPart({ file_name: _file, problem: _problem, ...shared }: LocalSession): SharedSession {
  return shared;
}

/** By id, slug or file name. Null when there is none, or more than one of that slug. */
export function sessionNamed(sessions: readonly LocalSession[], reference: string): LocalSession | null {
  const wanted = reference.toLowerCase();
  const found = sessions.filter(
    ({ graph_session_id, slug, file_name }) =>
      graph_session_id === wanted || slug === reference || file_name === basename(reference),
  );
  return found.length === 1 ? (found[0] ?? null) : null;
}
