/**
 * The Graphs in a folder: each `*.js` file is a session.
 *
 * Owns the rows of table `session`. A session's identity belongs to its file name; it survives edits, restarts, a file
 * that is gone for a moment, and a rename that keeps the content.
 */
import { createHash } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { ArgumentsSchema } from '../protocol/arguments-schema.ts';
import { graphSessionId } from '../protocol/ids.ts';
import type { Ports, StateStore, StoreChange, Timer } from '../protocol/ports.ts';
import { cleanText } from '../protocol/text.ts';
import { slugOf } from './engine/graph-meta.ts';
import { parseGraph } from './engine/graph-source.ts';
import { type GraphLibrary, type LoadedGraph, type LocalSession, sessionNamed } from './graph-library.ts';
import type { DesktopTables, SessionRow } from './rows.ts';

/** Larger files are listed as broken. A Graph is a program; data belongs into its arguments or its tools. */
const GRAPH_BYTES = 1024 * 1024;

/** As the relay takes it. */
const NAME_CHARS = 200;

/** Editors save in several steps; changes that follow each other this closely are looked at once. */
const SETTLE_MS = 100;

export interface FolderLibraryOptions {
  readonly folder: string;
  readonly store: StateStore<DesktopTables>;
  readonly ports: Ports;
}

interface Described {
  readonly name: string;
  readonly description: string;
  readonly slug: string;
  readonly argumentsSchema?: ArgumentsSchema;
}

/** What one look at the folder has found so far. */
interface Look {
  /** All file names. */
  readonly present: ReadonlySet<string>;
  /** Identities that a file has. */
  readonly taken: Set<string>;
}

export class FolderLibrary implements GraphLibrary {
  readonly #options: FolderLibraryOptions;
  #sessions: readonly LocalSession[] = [];
  #watcher: FSWatcher | null = null;
  #settling: Timer | null = null;
  #looking: Promise<unknown> = Promise.resolve();

  constructor(options: FolderLibraryOptions) {
    this.#options = options;
  }

  /** The folder's whole path. */
  get folder(): string {
    return resolve(this.#options.folder);
  }

  list(): readonly LocalSession[] {
    return this.#sessions;
  }

  /** By id, slug or file name. Null when there is none, or more than one of that slug. */
  find(reference: string): LocalSession | null {
    return sessionNamed(this.#sessions, reference);
  }

  async load(graphSessionId: string): Promise<LoadedGraph | null> {
    const session = this.#sessions.find(({ graph_session_id }) => graph_session_id === graphSessionId);
    if (session === undefined) return null;
    const source = await this.#read(session.file_name);
    if (source === null) return null;
    if (contentHashOf(source) !== this.#options.store.rows('session').get(graphSessionId)?.contentHash)
      await this.scan();
    return { name: session.file_name, source };
  }

  /** Reads the folder anew. Resolves with whether anything that others see has changed. */
  scan(): Promise<boolean> {
    // One look at a time: two at once would each give a new file an identity of its own.
    const look = this.#looking.then(() => this.#look());
    this.#looking = look.catch(() => {});
    return look;
  }

  async #look(): Promise<boolean> {
    const { folder, store, ports } = this.#options;
    const fileNames = (await readdir(folder)).filter((name) => name.endsWith('.js') && !name.startsWith('.')).sort();
    const seen: Look = { present: new Set(fileNames), taken: new Set() };
    const changes: StoreChange<DesktopTables>[] = [];
    const sessions: LocalSession[] = [];
    for (const fileName of fileNames) {
      const source = await this.#read(fileName);
      if (source === null) continue;
      const { row, problem } = this.#sessionOf(fileName, source, seen);
      if (row !== store.rows('session').get(row.graphSessionId)) {
        changes.push({ table: 'session', id: row.graphSessionId, row });
      }
      seen.taken.add(row.graphSessionId);
      sessions.push(localSession(row, problem));
      if (problem !== null) ports.log.debug('graph.broken', { file: fileName, problem });
    }
    if (changes.length > 0) await store.commit(changes);
    const changed = JSON.stringify(sessions) !== JSON.stringify(this.#sessions);
    this.#sessions = sessions;
    return changed;
  }

  /** Looks at the folder again whenever something in it changes, and tells when that mattered. */
  watch(onChange: () => void): void {
    const { clock, log } = this.#options.ports;
    const look = () => {
      this.scan().then(
        (changed) => changed && onChange(),
        (error) => log.warn('graphs.unreadable', { reason: error instanceof Error ? error.message : String(error) }),
      );
    };
    this.#watcher = watch(this.#options.folder, () => {
      this.#settling?.cancel();
      this.#settling = clock.after(SETTLE_MS, look);
    });
    this.#watcher.on('error', (error) => log.warn('graphs.unwatched', { reason: error.message }));
  }

  close(): void {
    this.#settling?.cancel();
    this.#watcher?.close();
  }

  async #read(fileName: string): Promise<string | null> {
    try {
      const path = join(this.#options.folder, fileName);
      if ((await stat(path)).size > GRAPH_BYTES) return '';
      return await readFile(path, 'utf8');
    } catch {
      // Gone between two looks, or a folder with such a name: then it is not a Graph.
      return null;
    }
  }

  #sessionOf(fileName: string, source: string, seen: Look): { row: SessionRow; problem: string | null } {
    const contentHash = contentHashOf(source);
    const known = this.#knownRow(fileName, source, seen);
    const { described, problem } = describe(fileName, source, known);
    if (known && known.contentHash === contentHash && known.fileName === fileName) return { row: known, problem };
    const row: SessionRow = {
      graphSessionId: known?.graphSessionId ?? graphSessionId(this.#options.ports.ids.hex(16)),
      fileName,
      version: known === null ? 1 : known.version + (known.contentHash === contentHash ? 0 : 1),
      contentHash,
      ...described,
    };
    return { row, problem };
  }

  /** The session of this file: by name, or by content when a file of another name has gone and no other took it over. */
  #knownRow(fileName: string, source: string, { present, taken }: Look): SessionRow | null {
    const rows = [...this.#options.store.rows('session').values()].filter((row) => !taken.has(row.graphSessionId));
    const byName = rows.find((row) => row.fileName === fileName);
    if (byName !== undefined || source === '') return byName ?? null;
    const contentHash = contentHashOf(source);
    return rows.find((row) => row.contentHash === contentHash && !present.has(row.fileName)) ?? null;
  }
}

function contentHashOf(source: string): string {
  return createHash('sha256').update(source).digest('hex');
}

/** What the file says of itself; what it said before when it does not parse now. */
function describe(
  fileName: string,
  source: string,
  known: SessionRow | null,
): { described: Described; problem: string | null } {
  const stem = cleanText(basename(fileName, '.js'), NAME_CHARS);
  try {
    if (source === '') throw new Error(`${fileName} is empty, or larger than ${GRAPH_BYTES} bytes`);
    const { name, description = '', slug = slugOf(stem), arguments: schema } = parseGraph(source, fileName).meta;
    return {
      // A name of nothing but what is cleaned away would make the relay refuse everything that this desktop shares.
      described: {
        name: cleanText(name, NAME_CHARS) || stem,
        description: cleanText(description, 2_000),
        slug,
        ...(schema && { argumentsSchema: schema }),
      },
      problem: null,
    };
  } catch (error) {
    const { name = stem, description = '', slug = slugOf(stem), argumentsSchema } = known ?? {};
    return {
      described: { name, description, slug, ...(argumentsSchema && { argumentsSchema }) },
      problem: cleanText(error instanceof Error ? error.message : error, 500),
    };
  }
}

function localSession(row: SessionRow, problem: string | null): LocalSession {
  return {
    graph_session_id: row.graphSessionId,
    name: row.name,
    description: row.description,
    slug: row.slug,
    version: row.version,
    status: problem === null ? 'ready' : 'broken',
    ...(row.argumentsSchema && { arguments_schema: row.argumentsSchema }),
    file_name: row.fileName,
    problem,
  };
}
