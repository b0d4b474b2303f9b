/** What the commands about tools do: on the running desktop, or on its data folder. */
import { localClient, runningOrOpened } from '../../../protocol/host/local-calls.ts';
import { createProcessLog } from '../../../protocol/host/logging.ts';
import { dataDirectory, openProcessState } from '../../../protocol/host/process.ts';
import { systemClock, systemRandom } from '../../../protocol/host/system-ports.ts';
import { columns, note, print } from '../../../protocol/host/terminal.ts';
import type { DesktopLocalRouter } from '../../local-api.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../rows.ts';
import type { OpenApproval } from '../../tools/approvals.ts';
import { Permissions } from '../../tools/permissions.ts';
import { oneLine } from '../../tools/shown-text.ts';
import { DEFAULT_TOOL_LIMITS } from '../../tools/tool-limits.ts';
import { ToolServers, toolsFile } from '../../tools/tool-servers.ts';
import {
  createRestingToolsAdmin,
  type DecideInput,
  type PermitAnswer,
  type PermitInput,
  type ToolsAdmin,
} from '../../tools/tools-api.ts';
import { approvalLines, decidedLine, ruleText, serverLines } from '../tool-text.ts';
import { flagsOf, type OwnerOptions } from './admin.ts';

export async function listTools(options: OwnerOptions): Promise<void> {
  const shown = await withTools(options, (tools) => tools.list());
  if (options.json) return print(JSON.stringify(shown));
  for (const { server, problem } of shown.problems) {
    note(`${shown.config}${server === null ? '' : `, server "${oneLine(server)}"`}: ${oneLine(problem)}`);
  }
  if (shown.servers.length === 0 && shown.problems.length === 0) {
    note(
      `There are no tool servers yet: name them in ${shown.config}. \`graph-relay desktop tools --help\` shows how.`,
    );
  }
  for (const line of shown.servers.flatMap(serverLines)) print(line);
  if (shown.permissions.length === 0) return;
  print('Entries, the more specific ones first; a tool that none fits is asked about:');
  const cells = shown.permissions.map(({ pattern, rule }) => ['', ruleText(rule), pattern]);
  for (const line of columns(cells)) print(line);
}

export async function permit(input: PermitInput, options: OwnerOptions): Promise<void> {
  const answer = await withTools(options, (tools) => tools.permit(input));
  if (options.json) return print(JSON.stringify(answer));
  const { pattern, rule } = input;
  note(`${pattern}: ${rule}${answer.changed ? ' from now on' : ', as before'}.${fitsText(answer)}`);
  const decision = rule === 'deny' ? 'deny' : 'allow';
  for (const each of answer.decided) note(decidedLine(each, { decision, scope: 'always' }));
}

export async function forget(pattern: string, options: OwnerOptions): Promise<void> {
  const answer = await withTools(options, (tools) => tools.forget(pattern));
  if (options.json) return print(JSON.stringify(answer));
  const entry = `entry for ${oneLine(pattern)}`;
  note(answer.changed ? `There is no ${entry} any more.` : `There was no ${entry}.`);
}

function fitsText({ tools, pattern }: PermitAnswer): string {
  if (tools === null) return '';
  if (tools.length === 0) return ' No tool of a server that runs now is called so.';
  if (tools.length === 1 && tools[0] === pattern) return '';
  const shown = tools.slice(0, 5).map(oneLine).join(', ');
  return ` It stands for ${tools.length} tools now: ${shown}${tools.length > 5 ? ', …' : ''}.`;
}

export async function listApprovals(options: OwnerOptions): Promise<void> {
  const open = await withTools(options, (tools) => tools.approvals());
  if (options.json) return print(JSON.stringify(open ?? []));
  if (open === null) return note('The desktop does not run, so nothing waits for a decision.');
  if (open.length === 0) return note('Nothing waits for a decision.');
  for (const line of open.flatMap((each) => approvalLines(each, systemClock.now()))) print(line);
  const [{ approval }] = open as [OpenApproval, ...OpenApproval[]];
  const flags = flagsOf(options);
  note(
    `\`graph-relay desktop approve ${approval}${flags}\` allows it, \`deny\` does not; --for run|always says for how long.`,
  );
}

export async function decide(input: DecideInput, options: OwnerOptions): Promise<void> {
  const decided = await withTools(options, (tools) => tools.decide(input));
  if (options.json) return print(JSON.stringify(decided));
  for (const each of decided) {
    // Whoever named none may have had another one in mind.
    if (input.approval === undefined) for (const line of approvalLines(each, systemClock.now())) note(line);
    note(decidedLine(each, input));
  }
}

/** Asks the running desktop; opens the data folder itself when none is running. */
export async function withTools<T>(options: OwnerOptions, use: (tools: ToolsAdmin) => Promise<T>): Promise<T> {
  const directory = dataDirectory(options.data, 'desktop');
  const { tools } = localClient<DesktopLocalRouter>(directory);
  const remote: ToolsAdmin = {
    list: () => tools.list.mutate(),
    permissions: () => tools.permissions.mutate(),
    permit: (input) => tools.permit.mutate(input),
    forget: (pattern) => tools.forget.mutate(pattern),
    approvals: () => tools.approvals.mutate(),
    decide: (input) => tools.decide.mutate(input),
  };
  return runningOrOpened({ remote: () => use(remote), opened: () => useFolder(directory, use) });
}

async function useFolder<T>(directory: string, use: (tools: ToolsAdmin) => Promise<T>): Promise<T> {
  // What is wrong with the file is printed; as a line of a log it would be said twice.
  const log = createProcessLog({ component: 'desktop', level: 'error', terminal: true, fd: 2 });
  const store = await openProcessState<DesktopTables>({ directory, tables: DESKTOP_TABLES, log, clock: systemClock });
  try {
    const ports = { clock: systemClock, random: systemRandom, log };
    const path = toolsFile(directory);
    const servers = new ToolServers({ path, environment: process.env, ports, limits: DEFAULT_TOOL_LIMITS });
    return await use(createRestingToolsAdmin(servers, new Permissions({ store, clock: systemClock })));
  } finally {
    await store.close();
  }
}
