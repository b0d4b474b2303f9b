/**
 * What the owner shares: which projects are enabled, and which Graph sessions are ticked for each. By default nothing.
 *
 * Owns the rows of table `share`, and the answer to "may this run, now?".
 */
import { RelayError } from '../protocol/errors.ts';
import { projectIdSchema } from '../protocol/ids.ts';
import { PROJECTS_PER_SYNC, SESSIONS_PER_PROJECT } from '../protocol/limits.ts';
import type { StateStore } from '../protocol/ports.ts';
import type { OfferedCommand, SyncInput } from '../protocol/schemas.ts';
import { type GraphLibrary, sharedPart } from './graph-library.ts';
import type { DesktopTables, ProjectShareRow } from './rows.ts';

export class Sharing {
  readonly #store: StateStore<DesktopTables>;
  readonly #library: GraphLibrary;
  readonly #onChange: () => void;

  constructor(options: { store: StateStore<DesktopTables>; library: GraphLibrary; onChange: () => void }) {
    this.#store = options.store;
    this.#library = options.library;
    this.#onChange = options.onChange;
  }

  projects(): ProjectShareRow[] {
    return [...this.#store.rows('share').values()];
  }

  /** Ticks a session for a project, and enables the project. Resolves when that is on disk. */
  async share(projectId: string, graphSessionId: string): Promise<ProjectShareRow> {
    const id = parseProjectId(projectId);
    const row = this.#store.rows('share').get(id) ?? { projectId: id, sessionIds: [] };
    if (row.sessionIds.includes(graphSessionId)) return row;
    if (row.sessionIds.length >= SESSIONS_PER_PROJECT) {
      throw new RelayError(
        'invalid-input',
        `Project ${id} has ${SESSIONS_PER_PROJECT} shared sessions, which is the most. Unshare one first.`,
      );
    }
    if (row.sessionIds.length === 0 && this.#store.rows('share').size >= PROJECTS_PER_SYNC) {
      throw new RelayError(
        'invalid-input',
        `${PROJECTS_PER_SYNC} projects are enabled, which is the most. Disable one first.`,
      );
    }
    return this.#put({ ...row, sessionIds: [...row.sessionIds, graphSessionId] });
  }

  /** Takes the tick away. A project without ticks stays enabled, with nothing shared. */
  async unshare(projectId: string, graphSessionId: string): Promise<ProjectShareRow | null> {
    const row = this.#store.rows('share').get(projectId);
    if (!row?.sessionIds.includes(graphSessionId)) return null;
    return this.#put({ ...row, sessionIds: row.sessionIds.filter((id) => id !== graphSessionId) });
  }

  /** Forgets the project with all its ticks. False when it was not enabled. */
  async disable(projectId: string): Promise<boolean> {
    if (!this.#store.rows('share').has(projectId)) return false;
    const durable = this.#store.commit([{ table: 'share', id: projectId, row: null }]);
    this.#onChange();
    await durable;
    return true;
  }

  /** What a sync says: the enabled projects with the sessions that are ticked and still exist. */
  projectsForSync(): SyncInput['projects'] {
    const sessions = new Map(this.#library.list().map((session) => [session.graph_session_id, session]));
    return this.projects().map(({ projectId, sessionIds }) => ({
      project_id: projectId,
      sessions: sessionIds.flatMap((id) => sessions.get(id) ?? []).map(sharedPart),
    }));
  }

  /** The consent of this moment: project enabled, session ticked, slug unchanged since the run was queued. */
  allows(command: OfferedCommand): boolean {
    const ticked = this.#store.rows('share').get(command.project_id)?.sessionIds.includes(command.graph_session_id);
    if (!ticked) return false;
    const session = this.#library.list().find(({ graph_session_id }) => graph_session_id === command.graph_session_id);
    return session?.slug === command.slug;
  }

  async #put(row: ProjectShareRow): Promise<ProjectShareRow> {
    const durable = this.#store.commit([{ table: 'share', id: row.projectId, row }]);
    this.#onChange();
    await durable;
    return row;
  }
}

function parseProjectId(text: string): string {
  const parsed = projectIdSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new RelayError('invalid-input', `"${text}" ${parsed.error.issues[0]?.message ?? 'is not a project id'}.`);
}
