/** A replay as text: what was reused, what is new, what was not used, and how the result differs. */
import type { Difference } from 'microdiff';
import { plain } from '../../protocol/host/terminal.ts';
import type { RunRecord } from '../runs/record-reader.ts';
import type { Replay } from '../runs/replay.ts';
import type { AccountedCall, PaidCall } from '../runs/replay-script.ts';
import { costText, counted, grouped, listed } from './words.ts';

const DIFFERENCES_SHOWN = 20;
const NAMES_SHOWN = 5;
const VALUE_CHARS = 60;

export function accountLines({ end }: RunRecord, done: Replay): string[] {
  const { reused, asked, refused, unused, graphsFromNow } = done;
  const saved = sumOf(reused);
  const lines = [`reused    ${callsText(reused)}${saved === '' ? '' : ` (${saved}, not paid again)`}`];
  if (asked.length > 0) lines.push(`asked     ${callsText(asked)} (${sumOf(asked)}): ${namesOf(asked)}`);
  if (refused.length > 0)
    lines.push(`refused   ${callsText(refused)}, not in the record or not whole: ${namesOf(refused)}`);
  if (unused.length > 0) lines.push(`not used  ${callsText(unused)}: ${namesOf(unused)}`);
  if (graphsFromNow.length > 0)
    lines.push(`Graphs    as they are now, not in the record: ${graphsFromNow.map(plain).join(', ')}`);
  lines.push(`events    ${done.sameEvents ? 'the same, in the same order' : 'others than in the record'}`);
  if (done.sameEnd) return [...lines, 'result    the same as in the record'];
  return [...lines, ...endLines(end, done)];
}

function endLines(end: RunRecord['end'], { outcome, differences }: Replay): string[] {
  const was =
    end === null ? 'its desktop died' : `it ${end.status}${end.error === null ? '' : `: ${plain(end.error)}`}`;
  if (differences.length === 0 || outcome.status !== end?.status)
    return [`result    another end: in the record ${was}`];
  const shown = differences.slice(0, DIFFERENCES_SHOWN).map(differenceText);
  const more = differences.length - shown.length;
  if (more > 0) shown.push(`  and ${grouped(more)} more`);
  return [`result    differs from the record in ${counted(differences.length, 'place')}`, ...shown];
}

function callsText(calls: readonly AccountedCall[]): string {
  const agents = calls.filter(({ kind }) => kind === 'agent').length;
  const tools = calls.length - agents;
  if (calls.length === 0) return 'nothing';
  return listed(agents === 0 ? '' : counted(agents, 'agent'), tools === 0 ? '' : counted(tools, 'tool call'));
}

function sumOf(calls: readonly PaidCall[]): string {
  const tokens = calls.reduce((sum, call) => sum + call.tokens, 0);
  const costs = calls.flatMap(({ cost }) => (cost === null ? [] : [cost]));
  const cost = costs.length === 0 ? null : costs.reduce((sum, each) => sum + each, 0);
  return tokens === 0 && cost === null ? '' : listed(counted(tokens, 'token'), costText(cost));
}

function namesOf(calls: readonly AccountedCall[]): string {
  const names = calls.slice(0, NAMES_SHOWN).map(({ name }) => plain(name));
  return calls.length > NAMES_SHOWN ? `${names.join(', ')}, …` : names.join(', ');
}

/** `before` or `after` is left out where there is nothing. */
export interface DifferenceRow {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

export function differenceRow(difference: Difference): DifferenceRow {
  const path = pathText(difference.path);
  if (difference.type === 'CREATE') return { path, after: difference.value };
  if (difference.type === 'REMOVE') return { path, before: difference.oldValue };
  return { path, before: difference.oldValue, after: difference.value };
}

function differenceText(difference: Difference): string {
  const row = differenceRow(difference);
  const before = 'before' in row ? valueText(row.before) : 'nothing';
  const after = 'after' in row ? valueText(row.after) : 'nothing';
  return `  ${plain(row.path)}: ${before} → ${after}`;
}

/** `result.notes[0].text`. */
function pathText(path: readonly (string | number)[]): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('');
}

function valueText(value: unknown): string {
  const text = plain(JSON.stringify(value));
  return text.length <= VALUE_CHARS ? text : `${text.slice(0, VALUE_CHARS - 1)}…`;
}
