/**
 * Tools and questions in words, for a terminal of 80 columns.
 *
 * Owns the form. What an owner decides about is shown as it is, or with a word on what is left out: nothing in it can hide,
 * move the cursor or turn around.
 */
import { columns, type Paint, painted } from '../../protocol/host/terminal.ts';
import type { ApprovalScope } from '../run-events.ts';
import type { OpenApproval } from '../tools/approvals.ts';
import type { PermissionRule } from '../tools/permissions.ts';
import { oneLine, shownLines } from '../tools/shown-text.ts';
import type { ShownServer, ShownTool } from '../tools/tools-api.ts';
import { counted, spanText } from './words.ts';

const COLUMNS = 80;
/** Of an input. The rest is for `--json`. */
const INPUT_LINES = 40;
const INPUT_CHARS = 4_000;

const RULE_PAINTS = { allow: 'green', ask: 'yellow', deny: 'red' } as const satisfies Record<PermissionRule, Paint>;

export function ruleText(rule: PermissionRule): string {
  return painted(RULE_PAINTS[rule], rule);
}

export function serverLines({ name, kind, place, state, problem, tools }: ShownServer): string[] {
  const trouble = problem === null ? '' : painted('red', `: ${oneLine(problem)}`);
  const head = `${painted('bold', name)} (${kind}, ${oneLine(place)}) ${STATES[state]}${trouble}`;
  const usable = (tools ?? []).filter((tool) => tool.problem === null);
  const unusable = (tools ?? []).filter((tool) => tool.problem !== null);
  const room = COLUMNS - RULE_COLUMNS - Math.max(0, ...usable.map((tool) => tool.name.length)) - 2;
  const cells = usable.map((tool) => ['', ruleText(tool.permission), tool.name, aboutText(tool, room)]);
  return [
    head,
    ...columns(cells),
    ...unusable.map(({ name: tool, problem: why }) => `  unusable: ${oneLine(tool)}: ${why}`),
  ];
}

/** What stands before a name. */
const RULE_COLUMNS = '  allow  '.length;

const STATES = { 'not-started': 'not started', starting: 'starting', running: 'running', failed: 'FAILED' } as const;

/** As much of the description as has room. */
function aboutText({ description }: ShownTool, room: number): string {
  const about = oneLine(description.split('\n', 1)[0]!.trim());
  if (room < 10 || about.length <= room) return room < 10 ? '' : about;
  return `${about.slice(0, room - 1).toWellFormed()}…`;
}

export function approvalLines({ approval, tool, command_id, asked_at_ms, input }: OpenApproval, now: number): string[] {
  const waited = spanText(Math.max(0, now - asked_at_ms));
  return [
    `${painted('bold', approval)}  ${painted('yellow', tool)}  waits ${waited}, for run ${command_id}`,
    ...inputLines(input),
  ];
}

function inputLines(input: unknown): string[] {
  const text = JSON.stringify(input ?? {}, null, 2);
  const shown = text.slice(0, INPUT_CHARS).split('\n').slice(0, INPUT_LINES).join('\n');
  const left = text.length - shown.length;
  const lines = shownLines(shown).map((line) => `  ${line}`);
  return left === 0
    ? lines
    : [...lines, painted('yellow', `  … ${counted(left, 'more character')}: --json shows them`)];
}

const SCOPES: Readonly<Record<ApprovalScope, string>> = {
  call: 'for this call',
  run: 'for the rest of this run',
  always: 'from now on',
};

export function decidedLine(
  { approval, tool }: OpenApproval,
  { decision, scope }: { decision: 'allow' | 'deny'; scope: ApprovalScope },
): string {
  return `${decision === 'allow' ? 'Allowed' : 'Denied'} ${tool} (${approval}) ${SCOPES[scope]}.`;
}
