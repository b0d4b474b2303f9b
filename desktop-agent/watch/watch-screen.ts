/**
 * The picture as lines for a terminal of some size.
 *
 * Owns the layout, and what goes first where there is little room. A pure function: the same picture, size and instant
 * give the same lines.
 */

import type { PaintText } from '../command-line/event-lines.ts';
import { shortId } from '../command-line/run-text.ts';
import { costText, counted, grouped, listed, spanText } from '../command-line/words.ts';
import type { OpenApproval } from '../tools/approvals.ts';
import { fitted, type Line, type Span, spread } from './fit.ts';
import { chosenOf, runNamed, type WatchState } from './watch-state.ts';
import { type Activity, isOver, type WatchedRun } from './watched-run.ts';

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

export interface ScreenOptions extends ScreenSize {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Nobody can press keys. */
  readonly mute: boolean;
  readonly paint: PaintText;
}

/** Below it, what a run has used goes onto a line of its own. */
const WIDE = 64;

/** Below it, there is no room for names that say little. */
const NARROW = 44;

/** As many lines as fit, each as wide as fits; the last ones say which keys there are. */
export function watchScreen(state: WatchState, options: ScreenOptions): string[] {
  const { rows, columns, paint } = options;
  const head = [titleLine(state, options), holdLine(state, options), []];
  const foot = footLines(state, options);
  const room = Math.max(0, rows - head.length - foot.length);
  const body = bodyLines(state, { ...options, room });
  const shown =
    body.length <= room ? body : [...body.slice(0, Math.max(0, room - 1)), moreLine(body.length - room + 1)];
  const blank: Line[] = Array.from({ length: Math.max(0, room - shown.length) }, () => []);
  return [...head, ...shown, ...blank, ...foot].slice(0, rows).map((line) => fitted(line, columns, paint));
}

function titleLine({ desktop }: WatchState, { columns }: ScreenSize): Line {
  const line = spread([['Graph Relay', 'bold']], connectionText(desktop), columns);
  // How it is tells more than its name.
  return columns < NARROW ? connectionText(desktop) : line;
}

function connectionText(desktop: WatchState['desktop']): Line {
  if (desktop === null) return [['○ not running', 'red']];
  const { connected, transport, paused_since } = desktop;
  if (!connected) return [['○ not connected', 'red']];
  const paused: Line = paused_since === null ? [] : [['paused  ', 'yellow']];
  return [...paused, ['● ', 'green'], [`connected, ${transport.transport}`]];
}

function holdLine({ desktop }: WatchState, { now }: ScreenOptions): Line {
  if (desktop === null) return [['Waiting for a desktop: `graph-relay desktop` starts one.', 'dim']];
  const { connected, trouble, held, running, limits, outbox } = desktop;
  if (!connected) return [[trouble ?? 'no answer yet', 'yellow']];
  const work = `${running} of ${counted(limits.slots, 'slot')}`;
  const deliver = outbox.pending === 0 ? '' : `${outbox.pending} to deliver`;
  return [[listed(holdText(held, now), work, deliver), 'dim']];
}

function holdText(held: { readonly since: string; readonly hold_ms: number } | null, now: number): string {
  if (held === null) return 'between two requests';
  const since = spanText(Math.max(0, now - Date.parse(held.since)));
  return held.hold_ms === 0 ? 'asking' : `held ${since} of ${spanText(held.hold_ms)}`;
}

interface BodyOptions extends ScreenOptions {
  /** Lines. */
  readonly room: number;
}

function bodyLines(state: WatchState, options: BodyOptions): Line[] {
  const approvals = state.approvals.flatMap((each) => approvalLines(each, state, options));
  const heads = state.live.map((run) => headLines(run, state, options));
  const fixed = approvals.length + heads.flat().length + (approvals.length > 0 ? 2 : 0) + 1;
  // What is left goes to what the runs are doing, and then to those that have ended.
  const each = state.live.length === 0 ? 0 : Math.max(0, Math.floor((options.room - fixed) / state.live.length));
  const runs = state.live.flatMap((run, index) => [...(heads[index] ?? []), ...workLines(run, each, options.now)]);
  const nothing: Line[] = state.live.length === 0 ? [[['  nothing', 'dim']]] : [];
  return [
    ...(approvals.length === 0 ? [] : [heading('Waits for you', 'yellow'), ...approvals, []]),
    heading('Runs'),
    ...runs,
    ...nothing,
    ...endedLines(state, options),
  ];
}

function heading(text: string, paint: 'yellow' | 'bold' = 'bold'): Line {
  return [[text, paint]];
}

/** The chosen one has a mark, by which keys are meant. */
function mark(id: string, state: WatchState): Span {
  return chosenOf(state) === id ? ['▸ ', 'cyan'] : ['  '];
}

function approvalLines(approval: OpenApproval, state: WatchState, { now }: ScreenOptions): Line[] {
  const { approval: id, tool, command_id, input, asked_at_ms } = approval;
  const graph = runNamed(state, command_id)?.graph ?? shortId(command_id);
  const since = spanText(Math.max(0, now - asked_at_ms));
  return [
    [mark(id, state), [tool, 'bold'], [`  for ${graph}, since ${since}  `], [id, 'dim']],
    [['    '], [JSON.stringify(input ?? {}) ?? '', 'dim']],
  ];
}

function headLines(run: WatchedRun, state: WatchState, { columns, now }: ScreenOptions): Line[] {
  const { commandId, graph, version, status } = run;
  const name: Span[] = [mark(commandId, state), [graph || '…', 'bold'], [version === null ? ' ' : ` v${version} `]];
  const id: Span = [shortId(commandId), 'dim'];
  const waits: Span[] = status === 'awaiting_approval' ? [['  waits', 'yellow']] : [];
  const cancels: Span[] = state.cancelling === commandId ? [['  c again cancels it', 'red']] : [];
  const used = usedText(run, now);
  if (columns >= WIDE) return [spread([...name, id, ...waits, ...cancels], [[used]], columns)];
  return [
    [...name, id, ...waits, ...cancels],
    [['    '], [used]],
  ];
}

function usedText(run: WatchedRun, now: number): string {
  const { agents, wave, tokens, cost, startedAt } = run;
  const asked = agents.started === 0 ? '' : `${agents.ended}/${agents.started} agents`;
  const waves = wave > 1 ? `wave ${wave}` : '';
  const spent = tokens === 0 ? '' : `${grouped(tokens)} tok`;
  return listed(waves, asked, spent, costText(cost), spanText(Math.max(0, now - startedAt)));
}

/** What a run is at: its phase, those at work, those that are done as far as there is room, and its last word. */
function workLines({ phase, log, activities }: WatchedRun, room: number, now: number): Line[] {
  const goingOn = activities.filter(({ ended }) => ended === null);
  const over = activities.filter(({ ended }) => ended !== null).toReversed();
  const before: Line[] = phase === null ? [] : [[['    '], [`── ${phase}`, 'bold']]];
  const after: Line[] = log === null ? [] : [[['    '], [log, 'dim']]];
  const left = Math.max(0, room - before.length - after.length);
  const work = [...goingOn, ...over].slice(0, left).map((each) => activityLine(each, now));
  return [...before, ...work, ...after].slice(0, room);
}

function activityLine({ label, startedAt, ended }: Activity, now: number): Line {
  if (ended === null) return [['    ▸ ', 'cyan'], [label], [`  ${spanText(Math.max(0, now - startedAt))}`, 'dim']];
  const sign: Span = ended.ok ? ['    ✓ ', 'green'] : ['    ✗ ', 'red'];
  const took = spanText(Math.max(0, ended.at - startedAt));
  return [sign, [label], [`  ${took}`, 'dim'], ...(ended.error === null ? [] : [[`  ${ended.error}`, 'red'] as const])];
}

function endedLines({ ended }: WatchState, { columns }: ScreenOptions): Line[] {
  if (ended.length === 0) return [];
  return [[], heading('Ended'), ...ended.filter(isOver).map((run) => endedLine(run, columns))];
}

function endedLine(run: WatchedRun, columns: number): Line {
  const { commandId, graph, status, tokens, cost, startedAt, endedAt, error } = run;
  const sign: Span = status === 'completed' ? ['  ✓ ', 'green'] : [status === 'failed' ? '  ✗ ' : '  ⊘ ', 'red'];
  const took = endedAt === null ? '' : spanText(Math.max(0, endedAt - startedAt));
  const spent = tokens === 0 ? '' : `${grouped(tokens)} tok`;
  const at = endedAt === null ? '' : clockText(endedAt);
  const name: Span[] = [sign, [graph || '…'], [` ${shortId(commandId)}`, 'dim']];
  const why: Span[] = error === null ? [] : [[`  ${error}`, 'dim']];
  const used: Line = [[`  ${listed(spent, costText(cost), took, at)}`]];
  return columns >= WIDE && error === null ? spread(name, used, columns) : [...name, ...(error === null ? used : why)];
}

/** As the clock on the wall shows it. */
function clockText(at: number): string {
  return new Date(at).toTimeString().slice(0, 8);
}

function moreLine(lines: number): Line {
  return [[`… ${counted(lines, 'more line')}`, 'dim']];
}

function footLines(state: WatchState, { mute, columns }: ScreenOptions): Line[] {
  const said: Line[] = state.said === null ? [] : [[[state.said, 'yellow']]];
  if (mute) return [...said, [['Ctrl-C ends', 'dim']]];
  const decide: Hint[] = [
    ['a', 'allow'],
    ['A', 'for this run'],
    ['d', 'deny'],
  ];
  const runs: Hint[] = [
    ['c', 'cancel'],
    ['↑↓', 'choose'],
  ];
  const some = [...(state.approvals.length === 0 ? [] : decide), ...(state.live.length === 0 ? [] : runs)];
  // The way out is never cut off.
  const keys: Hint[] = columns < WIDE ? [['q', 'quit'], ...some] : [...some, ['q', 'quit']];
  return [
    ...said,
    keys.flatMap(([key, does]): Span[] => [
      [key, 'cyan'],
      [` ${does}  `, 'dim'],
    ]),
  ];
}

type Hint = readonly [key: string, does: string];
