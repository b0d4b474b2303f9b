/** What `graph-relay desktop check` does: finds the files, has each looked at, and says what was found. */
import { join } from 'node:path';
import { EXIT_CODES } from '../../../protocol/host/exit-codes.ts';
import { note, painted, print } from '../../../protocol/host/terminal.ts';
import { DEFAULT_ENGINE_LIMITS } from '../../engine/engine-limits.ts';
import { checkGraph } from '../../graph-check/check-graph.ts';
import type { GraphProblem } from '../../graph-check/problem.ts';
import { counted } from '../words.ts';
import type { OwnerOptions } from './admin.ts';
import { fileNamed, type GraphFolder, graphFolderOf, readGraph, shownPath } from './graph-files.ts';

export interface CheckOptions extends OwnerOptions {
  /** Warnings end with code 1 too. */
  readonly strict?: boolean;
}

interface Checked {
  readonly file: string;
  readonly ok: boolean;
  readonly problems: readonly GraphProblem[];
}

export async function checkGraphs(wanted: readonly string[], options: CheckOptions): Promise<void> {
  const desktop = await graphFolderOf(options);
  const files = wanted.length > 0 ? wanted.map((each) => fileNamed(each, desktop)) : allFiles(desktop);
  const checked: Checked[] = [];
  for (const file of files) checked.push(await check(file, desktop, options));
  const ok = checked.every((each) => each.ok);
  if (!ok) process.exitCode = EXIT_CODES.failure;
  if (options.json) return print(JSON.stringify({ ok, files: checked }));
  for (const { file, problems } of checked) for (const problem of problems) print(problemLine(file, problem));
  note(summary(checked));
}

function allFiles({ folder, sessions }: GraphFolder): string[] {
  return sessions.map(({ file_name }) => join(folder, file_name));
}

async function check(file: string, desktop: GraphFolder, options: CheckOptions): Promise<Checked> {
  const others = desktop.sessions.filter(({ file_name }) => join(desktop.folder, file_name) !== file);
  const problems = checkGraph(await readGraph(file, desktop), { limits: DEFAULT_ENGINE_LIMITS, tools: null, others });
  const counts = problems.filter(({ severity }) => severity === 'error' || options.strict);
  return { file: shownPath(file), ok: counts.length === 0, problems };
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
