/** The limit that many connections meet first: how many files a process may have open. Owns finding it and naming it. */
import { BenchError } from '../bench-error.ts';
import { runsOf, type Workload } from '../workloads/workload.ts';

/** Files that a process has open besides its connections. */
const OTHER_FILES = 200;

/** Files that a process of ours may have open; infinite where nobody says. Node has raised the soft limit to the hard one. */
export function openFilesLimit(): number {
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  // Otherwise it asks for the names of all peers.
  report.excludeNetwork = true;
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: unknown } } };
  const soft = Number(userLimits?.open_files?.soft);
  return Number.isFinite(soft) ? soft : Number.POSITIVE_INFINITY;
}

/** Why so many connections cannot be held on this machine; null when they can. */
export function limitFor(connections: number, openFiles: number): string | null {
  const needed = connections + OTHER_FILES;
  if (openFiles >= needed) return null;
  return `a process may have ${openFiles} files open here, and ${needed} are needed: raise it with \`ulimit -n ${needed}\` (the hard limit, if that is refused) and run this again`;
}

/** Connections of a desktop: its held sync, its held control, and a short call. */
const OF_A_DESKTOP = 3;

/** Refuses more desktops than this machine lets a relay have. */
export function refuseTooMany(
  desktops: number,
  { workload, openFiles }: { workload: Workload; openFiles: number },
): void {
  const ofItsAgent = runsOf(workload) * (1 + workload.asking.length);
  const limit = limitFor(desktops * (OF_A_DESKTOP + ofItsAgent), openFiles);
  if (limit === null) return;
  throw new BenchError(
    'too-few-files',
    `${desktops} desktops at once are too many: ${limit}, or with fewer --desktops.`,
  );
}
