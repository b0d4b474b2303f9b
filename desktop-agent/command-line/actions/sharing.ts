/** What the commands about sharing do. */
import { ExitError } from '../../../protocol/host/exit-codes.ts';
import { note, print } from '../../../protocol/host/terminal.ts';
import { type OwnerOptions, withAdmin } from './admin.ts';

export interface ShareOptions extends OwnerOptions {
  readonly project: string;
  /** Take everything back from the project. */
  readonly all?: boolean;
}

export async function listProjects(options: OwnerOptions): Promise<void> {
  const projects = await withAdmin(options, (admin) => admin.projects());
  if (options.json) return print(JSON.stringify(projects));
  if (projects.length === 0) {
    note('Nothing is shared. Share a Graph with `graph-relay desktop share GRAPH --project ID`.');
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
    throw new ExitError('usage', 'Name a Graph, or pass --all to take everything back from the project.');
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
