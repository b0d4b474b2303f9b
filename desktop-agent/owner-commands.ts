/** What the owner's commands of `graph-relay desktop` do: on the running desktop, or on its data folder. */
import { ExitError } from '../protocol/host/exit-codes.ts';
import { durationText } from '../protocol/host/limit-options.ts';
import { localClient, runningOrOpened } from '../protocol/host/local-calls.ts';
import { createProcessLog } from '../protocol/host/logging.ts';
import { dataDirectory, openProcessState } from '../protocol/host/process.ts';
import { systemClock, systemIds, systemRandom } from '../protocol/host/system-ports.ts';
import { note, print } from '../protocol/host/terminal.ts';
import { FolderLibrary } from './folder-library.ts';
import { graphFolder } from './graph-folder.ts';
import { createDesktopAdmin, type DesktopAdmin, type DesktopLocalRouter, type ShownSession } from './local-api.ts';
import { DESKTOP_TABLES, type DesktopTables, LAST_END } from './rows.ts';
import { Sharing } from './sharing.ts';

export interface OwnerOptions {
  readonly data?: string;
  readonly graphs?: string;
  readonly json?: boolean;
}

export interface ShareOptions extends OwnerOptions {
  readonly project: string;
  /** Take everything back from the project. */
  readonly all?: boolean;
}

export async function listSessions(options: OwnerOptions): Promise<void> {
  const sessions = await withAdmin(options, (admin) => admin.sessions());
  if (options.json) return print(JSON.stringify(sessions));
  if (sessions.length === 0) note('There are no Graphs yet: put *.js files into the Graph folder.');
  for (const session of sessions) print(sessionLine(session));
}

function sessionLine(session: ShownSession): string {
  const shared = session.projects.length > 0 ? `shared with ${session.projects.join(', ')}` : 'not shared';
  const trouble = session.problem === null ? '' : `  BROKEN: ${session.problem}`;
  return `${session.graph_session_id}  ${session.slug.padEnd(20)} v${session.version}  ${shared}${trouble}`;
}

export async function listProjects(options: OwnerOptions): Promise<void> {
  const projects = await withAdmin(options, (admin) => admin.projects());
  if (options.json) return print(JSON.stringify(projects));
  if (projects.length === 0) {
    note('Nothing is shared. Share a session with `graph-relay desktop share SESSION --project ID`.');
  }
  for (const { project_id, sessions, refused } of projects) {
    print(`${project_id}  ${sessions.length} shared${refused === null ? '' : `  REFUSED: ${refused}`}`);
  }
}

export async function share(session: string, options: ShareOptions): Promise<void> {
  const { project } = options;
  const answer = await withAdmin(options, (admin) => admin.share({ session, project }));
  if (options.json) return print(JSON.stringify(answer));
  const { slug } = answer.session;
  note(
    answer.changed
      ? `"${slug}" is shared with project ${project}.`
      : `"${slug}" was shared with project ${project} before.`,
  );
}

export async function unshare(session: string | undefined, options: ShareOptions): Promise<void> {
  const { project } = options;
  if (options.all) return disable(project, options);
  if (session === undefined) {
    throw new ExitError('usage', 'Name a session, or pass --all to take everything back from the project.');
  }
  const answer = await withAdmin(options, (admin) => admin.unshare({ session, project }));
  if (options.json) return print(JSON.stringify(answer));
  const { slug } = answer.session;
  note(
    answer.changed
      ? `"${slug}" is not shared with project ${project} any more.`
      : `"${slug}" was not shared with project ${project}.`,
  );
}

async function disable(project: string, options: OwnerOptions): Promise<void> {
  const was = await withAdmin(options, (admin) => admin.disable(project));
  if (options.json) return print(JSON.stringify({ project_id: project, changed: was }));
  note(was ? `Nothing is shared with project ${project} any more.` : `Nothing was shared with project ${project}.`);
}

export async function showStatus(options: OwnerOptions): Promise<void> {
  const status = await withAdmin(options, (admin) => admin.status());
  if (options.json) return print(JSON.stringify(status));
  if (status === null) return print('not running');
  if ('ended' in status) return print(`not running: it ended at ${status.ended.at}. ${status.trouble}`);
  const { connected, transport, epoch, trouble, running, outbox, limits } = status;
  print(
    connected
      ? `connected (${transport.transport}, epoch ${epoch}): ${transport.reason}`
      : `not connected: ${trouble ?? 'no answer yet'}`,
  );
  if (transport.retry_in_ms !== null) {
    print(
      `${transport.holds_cut} holds cut so far; something better is tried in ${Math.ceil(transport.retry_in_ms / 60_000)} min`,
    );
  }
  print(`${running} running, ${outbox.pending} completions to deliver, ${outbox.refused.length} refused`);
  for (const { commandId, refused } of outbox.refused) print(`  refused: ${commandId}: ${refused}`);
  print(`limits: ${limits.slots} runs at once, requests held for up to ${durationText(limits.hold_ms)}`);
}

/** For the system's sleep hook, which must not fail because of us: nobody to tell is no error. */
export async function sayAsleep(options: OwnerOptions): Promise<void> {
  const told = await withAdmin(options, (admin) => admin.asleep());
  if (options.json) return print(JSON.stringify({ running: told !== null, told: told === true }));
  if (told === null) return note(NOBODY);
  note(
    told
      ? 'The relay shows this desktop as asleep. It asks for work again when the machine wakes.'
      : 'The relay could not be told in time. The desktop asks for no work until the machine wakes.',
  );
}

export async function sayAwake(options: OwnerOptions): Promise<void> {
  const running = await withAdmin(options, (admin) => admin.awake());
  if (options.json) return print(JSON.stringify({ running }));
  note(running ? 'The desktop asks for work again.' : NOBODY);
}

const NOBODY = 'The desktop does not run, so there is nobody to tell.';

/** Asks the running desktop; opens the data folder itself when none is running. */
async function withAdmin<T>(options: OwnerOptions, use: (admin: DesktopAdmin) => Promise<T>): Promise<T> {
  const directory = dataDirectory(options.data, 'desktop');
  const client = localClient<DesktopLocalRouter>(directory);
  const remote: DesktopAdmin = {
    sessions: () => client.sessions.mutate(),
    projects: () => client.projects.mutate(),
    share: (request) => client.share.mutate(request),
    unshare: (request) => client.unshare.mutate(request),
    disable: (projectId) => client.disable.mutate(projectId),
    status: () => client.status.mutate(),
    asleep: () => client.asleep.mutate(),
    awake: () => client.awake.mutate(),
  };
  return runningOrOpened({ remote: () => use(remote), opened: () => useFolder(options, use) });
}

async function useFolder<T>(options: OwnerOptions, use: (admin: DesktopAdmin) => Promise<T>): Promise<T> {
  const directory = dataDirectory(options.data, 'desktop');
  const log = createProcessLog({ component: 'desktop', level: 'warn', terminal: true, fd: 2 });
  const store = await openProcessState<DesktopTables>({ directory, tables: DESKTOP_TABLES, log, clock: systemClock });
  try {
    const folder = await graphFolder({ data: options.data, graphs: options.graphs });
    const ports = { clock: systemClock, random: systemRandom, ids: systemIds, log };
    const library = new FolderLibrary({ folder, store, ports });
    const sharing = new Sharing({ store, library, onChange: () => {} });
    const lastEnd = () => store.rows('end').get(LAST_END);
    return await use(createDesktopAdmin({ library, sharing, agent: null, lastEnd }));
  } finally {
    await store.close();
  }
}
