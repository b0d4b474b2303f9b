/** What `graph-relay desktop check` does: finds the files, has each looked at, and says what was found. */
import { join } from 'node:path';
import { EXIT_CODES } from '../../../protocol/host/exit-codes.ts';
import { note, painted, print } from '../../../protocol/host/terminal.ts';
import { DEFAULT_ENGINE_LIMITS, type EngineLimits } from '../../engine/engine-limits.ts';
import { checkGraph, type GraphFile } from '../../graph-check/check-graph.ts';
import type { GraphProblem } from '../../graph-check/problem.ts';
import type { KnownTool, KnownTools } from '../../graph-check/rules/tools.ts';
import type { ShownTool } from '../../tools/tools-api.ts';
import { counted } from '../words.ts';
import type { OwnerOptions } from './admin.ts';
import { fileNamed, type GraphFolder, graphFolderOf, readGraph, shownPath } from './graph-files.ts';
import { withTools } from './tools.ts';

export interface CheckOptions extends OwnerOptions {
  /** Warnings end with code 1 too. */
  readonly strict?: boolean;
  /** What the owner allows each run. */
  readonly limits: Partial<EngineLimits>;
}

interface Checked {
  readonly file: string;
  readonly ok: boolean;
  readonly problems: readonly GraphProblem[];
}

export async function checkGraphs(wanted: readonly string[], options: CheckOptions): Promise<void> {
  const desktop = await graphFolderOf(options);
  const files = wanted.length > 0 ? wanted.map((each) => fileNamed(each, desktop)) : allFiles(desktop);
  const graphs = await Promise.all(files.map(async (file) => ({ file, ...(await readGraph(file, desktop)) })));
  const tools = await toolsKnown(graphs, options);
  const limits = { ...DEFAULT_ENGINE_LIMITS, ...options.limits };
  const known = { desktop, tools, strict: options.strict === true, limits };
  const checked = graphs.map((graph) => check(graph, known));
  const ok = checked.every((each) => each.ok);
  if (!ok) process.exitCode = EXIT_CODES.failure;
  if (options.json) return print(JSON.stringify({ ok, files: checked }));
  for (const { file, problems } of checked) for (const problem of problems) print(problemLine(file, problem));
  note(summary(checked));
}

function allFiles({ folder, sessions }: GraphFolder): string[] {
  return sessions.map(({ file_name }) => join(folder, file_name));
}

interface Known {
  readonly desktop: GraphFolder;
  readonly tools: KnownTools;
  readonly strict: boolean;
  readonly limits: EngineLimits;
}

function check(
  { file, name, source }: GraphFile & { file: string },
  { desktop, tools, strict, limits }: Known,
): Checked {
  const others = desktop.sessions.filter(({ file_name }) => join(desktop.folder, file_name) !== file);
  const problems = checkGraph({ name, source }, { limits, tools, others });
  const counts = problems.filter(({ severity }) => severity === 'error' || strict);
  return { file: shownPath(file), ok: counts.length === 0, problems };
}

/** The running desktop starts its servers to ask them, so it is asked only when it matters. */
async function toolsKnown(graphs: readonly GraphFile[], options: CheckOptions): Promise<KnownTools> {
  if (!graphs.some(({ source }) => /\btools\b/.test(source))) return null;
  const { servers, problems } = await withTools(options, (tools) => tools.list());
  // A server that cannot be read may have any tool.
  const unread = problems.flatMap(({ server }) => (server === null ? [] : [server]));
  if (unread.length < problems.length) return null;
  const known = servers.map(({ name, tools }) => [name, tools?.map(knownTool) ?? null] as const);
  return new Map([...unread.map((name) => [name, null] as const), ...known]);
}

function knownTool({ name, permission }: ShownTool): KnownTool {
  return { name, denied: permission === 'deny' };
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
