/** How a command of the owner reaches the desktop: the one that runs, or else its data folder. */
import { localClient, runningOrOpened } from '../../../protocol/host/local-calls.ts';
import { createProcessLog } from '../../../protocol/host/logging.ts';
import { dataDirectory, openProcessState } from '../../../protocol/host/process.ts';
import { systemClock, systemIds, systemRandom } from '../../../protocol/host/system-ports.ts';
import { FolderLibrary } from '../../folder-library.ts';
import { graphFolder } from '../../graph-folder.ts';
import { createDesktopAdmin, type DesktopAdmin, type DesktopLocalRouter } from '../../local-api.ts';
import { Pausing } from '../../pausing.ts';
import { DESKTOP_TABLES, type DesktopTables, LAST_END } from '../../rows.ts';
import { Sharing } from '../../sharing.ts';

export interface OwnerOptions {
  readonly data?: string;
  readonly graphs?: string;
  readonly json?: boolean;
}

/** The same folders again, for a command that is suggested. */
export function flagsOf({ data, graphs }: OwnerOptions): string {
  const flag = (name: string, value: string | undefined) =>
    value === undefined ? '' : ` --${name} ${shellWord(value)}`;
  return flag('data', data) + flag('graphs', graphs);
}

function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Asks the running desktop; opens the data folder itself when none is running. */
export async function withAdmin<T>(options: OwnerOptions, use: (admin: DesktopAdmin) => Promise<T>): Promise<T> {
  const directory = dataDirectory(options.data, 'desktop');
  const client = localClient<DesktopLocalRouter>(directory);
  const remote: DesktopAdmin = {
    graphFolder: () => client.graphFolder.mutate(),
    sessions: () => client.sessions.mutate(),
    projects: () => client.projects.mutate(),
    share: (request) => client.share.mutate(request),
    unshare: (request) => client.unshare.mutate(request),
    disable: (projectId) => client.disable.mutate(projectId),
    status: () => client.status.mutate(),
    pause: () => client.pause.mutate(),
    resume: () => client.resume.mutate(),
    pausedSince: () => client.pausedSince.mutate(),
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
    const pausing = new Pausing({ store, clock: systemClock, onChange: () => {} });
    const lastEnd = () => store.rows('end').get(LAST_END);
    return await use(createDesktopAdmin({ library, sharing, pausing, agent: null, lastEnd }));
  } finally {
    await store.close();
  }
}
