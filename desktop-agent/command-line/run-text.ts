/**
 * Runs as text: a line in a list, a head, a timeline.
 *
 * Owns the words. What Graphs and agents wrote goes through `plain`, so that it cannot steer the terminal.
 */
import { type Paint, painted, plain, plainLines } from '../../protocol/host/terminal.ts';
import type { GraphEvent } from '../run-events.ts';
import type { RunSummary } from '../runs/record-reader.ts';
import type { ShownRun } from '../runs/run-desk.ts';
import { EventLines } from './event-lines.ts';
import { costText, counted, grouped, listed, spanText } from './words.ts';

const COLOURS: Readonly<Record<RunSummary['status'], Paint>> = {
  running: 'cyan',
  awaiting_approval: 'yellow',
  completed: 'green',
  failed: 'red',
  cancelled: 'yellow',
};

/** As far as a person needs it, in the time of this place. */
export function whenText(instant: string): string {
  // Sweden writes dates as everybody reads them.
  return new Date(instant).toLocaleString('sv-SE');
}

export function shortId(commandId: string): string {
  return commandId.slice(0, 8);
}

export function runCells(run: RunSummary): string[] {
  return [
    painted('bold', shortId(run.command_id)),
    whenText(run.started_at),
    graphText(run),
    statusText(run),
    spanText(run.duration_ms),
    counted(run.total_tokens, 'token'),
    costText(run.reported_cost),
    run.project_id ?? '',
  ];
}

function statusText({ status, waits_for }: RunSummary): string {
  const text = waits_for === null ? status : `waits for approval of ${plain(waits_for)}`;
  return painted(COLOURS[status], text);
}

function graphText({ graph, version }: RunSummary): string {
  return `${plain(graph)}${version === null ? '' : ` v${version}`}`;
}

/** What is known of a run before anything of what happened. */
export function headLines({ run, args }: ShownRun): string[] {
  const asker = run.project_id === null ? '' : `, for project ${run.project_id}`;
  return [
    `${painted('bold', 'run')}        ${run.command_id}`,
    `${painted('bold', 'Graph')}      ${graphText(run)}${asker}`,
    `${painted('bold', 'started')}    ${whenText(run.started_at)}`,
    `${painted('bold', 'arguments')}  ${plain(args)}`,
  ];
}

/** How it ended, or how it is. `flags` name the data folder for the command that is suggested. */
export function endLines(run: RunSummary, flags: string): string[] {
  const figures = listed(counted(run.total_tokens, 'token'), costText(run.reported_cost), spanText(run.duration_ms));
  const lines = [`${statusText(run)}: ${figures}`];
  if (run.error !== null) lines.push(painted('red', plain(run.error)));
  if (run.result_chars !== null) {
    const show = `graph-relay desktop show ${shortId(run.command_id)} --result${flags}`;
    lines.push(`The result has ${grouped(run.result_chars)} characters of JSON: \`${show}\` prints it.`);
  }
  if (run.incomplete) lines.push('Not all of it is in the record: it was too much, or was not written in time.');
  return lines;
}

/** What happened, each line with the time since the start. */
export class Timeline {
  readonly #lines = new EventLines((paint, text) => painted(paint, text));
  readonly #prompts: boolean;

  constructor({ prompts = false } = {}) {
    this.#prompts = prompts;
  }

  lines({ event, after_ms }: { readonly event: GraphEvent; readonly after_ms: number }): string[] {
    const line = this.#lines.line(event);
    const shown = line === null ? [] : [`${painted('dim', sinceStart(after_ms))} ${line}`];
    return this.#prompts ? [...shown, ...spoken(event)] : shown;
  }
}

function sinceStart(ms: number): string {
  return spanText(ms).padStart(12);
}

/** What was asked and said, below its line. */
function spoken(event: GraphEvent): string[] {
  const text = textOf(event);
  if (text === null) return [];
  const margin = ' '.repeat(16);
  return plainLines(text)
    .split('\n')
    .map((line) => `${margin}${painted('dim', '│')} ${line}`);
}

function textOf(event: GraphEvent): string | null {
  switch (event.type) {
    case 'agent_started':
      return event.prompt;
    case 'agent_finished':
      return event.answer;
    case 'tool_started':
      return JSON.stringify(event.input);
    case 'tool_finished':
      return event.ok ? JSON.stringify(event.output) : null;
    default:
      return null;
  }
}
