/** What the owner's command line may ask of the desktop, running or not: sessions, projects, sharing. */
import { z } from 'zod';
import { RelayError } from '../protocol/errors.ts';
import { localTrpc } from '../protocol/host/local-calls.ts';
import { answering } from '../protocol/trpc-errors.ts';
import type { Agent, AgentSnapshot } from './agent.ts';
import type { FolderLibrary } from './folder-library.ts';
import type { LocalSession } from './graph-library.ts';
import type { Pausing } from './pausing.ts';
import type { EndRow } from './rows.ts';
import type { RunDesk } from './runs/run-desk.ts';
import { createRunsRouter } from './runs/runs-router.ts';
import type { Sharing } from './sharing.ts';
import { createToolsRouter, type ToolsAdmin } from './tools/tools-api.ts';

export interface ShownSession extends LocalSession {
  /** Projects that it is shared with. */
  readonly projects: readonly string[];
}

export interface ShownProject {
  readonly project_id: string;
  readonly sessions: readonly string[];
  /** Why the relay does not take it; null when it does, or was not asked yet. */
  readonly refused: string | null;
}

export interface ShareAnswer {
  readonly session: LocalSession;
  readonly project_id: string;
  /** False when it was that way before. */
  readonly changed: boolean;
}

/** A desktop that does not run, since the relay refused it for good. */
export interface EndedStatus {
  readonly connected: false;
  /** What the relay said. */
  readonly trouble: string;
  /** The relay's final error and when it came, ISO 8601. */
  readonly ended: { readonly code: string; readonly at: string };
}

export interface DesktopAdmin {
  /** Where the Graphs are, as a whole path. */
  graphFolder(): Promise<string>;
  sessions(): Promise<ShownSession[]>;
  projects(): Promise<ShownProject[]>;
  share(request: ShareRequest): Promise<ShareAnswer>;
  unshare(request: ShareRequest): Promise<ShareAnswer>;
  disable(projectId: string): Promise<boolean>;
  /** Null when the desktop does not run, and nothing is known of why. */
  status(): Promise<AgentSnapshot | EndedStatus | null>;
  /** Takes no new commands until it is resumed, also after a restart. */
  pause(): Promise<PauseAnswer>;
  resume(): Promise<PauseAnswer>;
  /** ISO 8601; null when it is not paused. */
  pausedSince(): Promise<string | null>;
  /** The machine is about to sleep: whether the relay knows. Null when the desktop does not run. */
  asleep(): Promise<boolean | null>;
  /** The machine is awake again. False when the desktop does not run. */
  awake(): Promise<boolean>;
}

export interface PauseAnswer {
  /** ISO 8601; null when it is not paused. */
  readonly paused_since: string | null;
  /** False when it was that way before. */
  readonly changed: boolean;
  /** Runs that go on; null when the desktop does not run. */
  readonly running: number | null;
}

export interface ShareRequest {
  /** Id, slug or file name. */
  readonly session: string;
  readonly project: string;
}

export function createDesktopAdmin(options: {
  library: FolderLibrary;
  sharing: Sharing;
  pausing: Pausing;
  /** Null when the desktop does not run. */
  agent: Pick<Agent, 'snapshot' | 'asleep' | 'awake'> | null;
  /** How the desktop ended that ran last. */
  lastEnd?: () => EndRow | undefined;
}): DesktopAdmin {
  const { library, sharing, pausing, agent, lastEnd = () => undefined } = options;

  return {
    graphFolder: async () => library.folder,
    async sessions() {
      await library.scan();
      return library.list().map((session) => ({
        ...session,
        projects: sharing
          .projects()
          .filter(({ sessionIds }) => sessionIds.includes(session.graph_session_id))
          .map(({ projectId }) => projectId),
      }));
    },
    async projects() {
      const refused = new Map(agent?.snapshot().refusedProjects.map(({ project_id, reason }) => [project_id, reason]));
      return sharing.projects().map(({ projectId, sessionIds }) => ({
        project_id: projectId,
        sessions: sessionIds,
        refused: refused.get(projectId) ?? null,
      }));
    },
    async share({ session: reference, project }) {
      const session = await sessionNamed(library, reference);
      const before = sharing.projects().find(({ projectId }) => projectId === project)?.sessionIds ?? [];
      await sharing.share(project, session.graph_session_id);
      return { session, project_id: project, changed: !before.includes(session.graph_session_id) };
    },
    async unshare({ session: reference, project }) {
      const session = await sessionNamed(library, reference);
      const row = await sharing.unshare(project, session.graph_session_id);
      return { session, project_id: project, changed: row !== null };
    },
    disable: (projectId) => sharing.disable(projectId),
    status: async () => agent?.snapshot() ?? endedStatus(lastEnd()),
    ...pauseAdmin(pausing, agent),
    asleep: async () => agent?.asleep() ?? null,
    async awake() {
      agent?.awake();
      return agent !== null;
    },
  };
}

function pauseAdmin(
  pausing: Pausing,
  agent: Pick<Agent, 'snapshot'> | null,
): Pick<DesktopAdmin, 'pause' | 'resume' | 'pausedSince'> {
  const since = () => (pausing.since === null ? null : new Date(pausing.since).toISOString());
  const running = () => agent?.snapshot().running ?? null;
  const answer = (changed: boolean): PauseAnswer => ({ paused_since: since(), changed, running: running() });
  return {
    pause: async () => answer(await pausing.pause()),
    resume: async () => answer(await pausing.resume()),
    pausedSince: async () => since(),
  };
}

async function sessionNamed(library: FolderLibrary, reference: string): Promise<LocalSession> {
  await library.scan();
  const session = library.find(reference);
  if (session !== null) return session;
  const known = library.list().map(({ slug }) => slug);
  const hint = known.length > 0 ? `Known: ${known.join(', ')}.` : 'The Graph folder has no *.js files yet.';
  throw new RelayError(
    'invalid-input',
    `There is no single Graph session "${reference}" (by id, slug or file name). ${hint}`,
  );
}

function endedStatus(row: EndRow | undefined): EndedStatus | null {
  if (row === undefined) return null;
  const { code, reason, at } = row;
  return { connected: false, trouble: reason, ended: { code, at: new Date(at).toISOString() } };
}

const shareSchema = z.object({ session: z.string(), project: z.string() });

export function createDesktopLocalRouter(admin: DesktopAdmin, runs: RunDesk, tools: ToolsAdmin) {
  const { router, procedure } = localTrpc;
  return router({
    graphFolder: procedure.mutation(() => answering(admin.graphFolder())),
    sessions: procedure.mutation(() => answering(admin.sessions())),
    projects: procedure.mutation(() => answering(admin.projects())),
    share: procedure.input(shareSchema).mutation(({ input }) => answering(admin.share(input))),
    unshare: procedure.input(shareSchema).mutation(({ input }) => answering(admin.unshare(input))),
    disable: procedure.input(z.string()).mutation(({ input }) => answering(admin.disable(input))),
    status: procedure.mutation(() => answering(admin.status())),
    pause: procedure.mutation(() => answering(admin.pause())),
    resume: procedure.mutation(() => answering(admin.resume())),
    pausedSince: procedure.mutation(() => answering(admin.pausedSince())),
    asleep: procedure.mutation(() => answering(admin.asleep())),
    awake: procedure.mutation(() => answering(admin.awake())),
    runs: createRunsRouter(runs),
    tools: createToolsRouter(tools),
  });
}

export type DesktopLocalRouter = ReturnType<typeof createDesktopLocalRouter>;
