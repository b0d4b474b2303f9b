/** What `graph-relay desktop check` does: finds the files, has each looked at, and says what was found. */
import { readFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { EXIT_CODES, ExitError } from '../../../protocol/host/exit-codes.ts';
import { note, painted, print } from '../../../protocol/host/terminal.ts';
import { DEFAULT_ENGINE_LIMITS } from '../../engine/engine-limits.ts';
import { checkGraph } from '../../graph-check/check-graph.ts';
import type { GraphProblem } from '../../graph-check/problem.ts';
import type { LocalSession } from '../../graph-library.ts';
import { type OwnerOptions, withAdmin } from './admin.ts';

export interface CheckOptions extends OwnerOptions {
  /** Warnings end with code 1 too. */
  readonly strict?: boolean;
}

interface Desktop {
  readonly folder: string;
  readonly sessions: readonly LocalSession[];
}

interface Checked {
  readonly file: string;
  readonly ok: boolean;
  readonly problems: readonly GraphProblem[];
}

export async function checkGraphs(wanted: readonly string[], options: CheckOptions): Promise<void> {
  const desktop = await withAdmin(options, async (admin) => ({
    folder: await admin.graphFolder(),
    sessions: await admin.sessions(),
  }));
  const files = wanted.length > 0 ? wanted.map((each) => fileOf(each, desktop)) : allFiles(desktop);
  const checked: Checked[] = [];
  for (const file of files) checked.push(await check(file, desktop, options));
  const ok = checked.every((each) => each.ok);
  if (!ok) process.exitCode = EXIT_CODES.failure;
  if (options.json) return print(JSON.stringify({ ok, files: checked }));
  for (const { file, problems } of checked) for (const problem of problems) print(problemLine(file, problem));
  note(summary(checked));
}

function allFiles({ folder, sessions }: Desktop): string[] {
  return sessions.map(({ file_name }) => join(folder, file_name));
}

/** A Graph of the folder by slug, id or file name; otherwise a path. */
function fileOf(wanted: string, { folder, sessions }: Desktop): string {
  const found = sessions.filter(
    ({ slug, graph_session_id, file_name }) => wanted === slug || wanted === graph_session_id || wanted === file_name,
  );
  const [only] = found;
  return only !== undefined && found.length === 1 ? join(folder, only.file_name) : resolve(wanted);
}

async function check(file: string, desktop: Desktop, options: CheckOptions): Promise<Checked> {
  const others = desktop.sessions.filter(({ file_name }) => join(desktop.folder, file_name) !== file);
  const source = await textOf(file, desktop);
  const problems = checkGraph({ name: basename(file), source }, { limits: DEFAULT_ENGINE_LIMITS, others });
  const counts = problems.filter(({ severity }) => severity === 'error' || options.strict);
  return { file: shownPath(file), ok: counts.length === 0, problems };
}

async function textOf(file: string, { sessions }: Desktop): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const known = sessions.map(({ slug }) => slug).join(', ') || 'none yet';
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new ExitError(
      'failure',
      `${file} cannot be read (${reason}). Name a file, or a Graph of this desktop: ${known}.`,
    );
  }
}

/** As short as it is from here. */
function shownPath(file: string): string {
  const fromHere = relative('.', file);
  return fromHere.startsWith('..') ? file : fromHere;
}

/** Editors and terminals make a link of the place. */
function problemLine(file: string, { line, column, severity, message, rule }: GraphProblem): string {
  const word = painted(severity === 'error' ? 'red' : 'yellow', severity);
  return `${painted('bold', `${file}:${line}:${column}`)}: ${word}: ${message} ${painted('dim', `[${rule}]`)}`;
}

function summary(checked: readonly Checked[]): string {
  const problems = checked.flatMap((each) => each.problems);
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const graphs = counted(checked.length, 'Graph');
  if (problems.length === 0) return `${graphs} checked, nothing found.`;
  return `${graphs} checked: ${counted(errors, 'error')}, ${counted(problems.length - errors, 'warning')}.`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
