/** What `graph-relay start` shows: the timeline of a run, what to do next, and a line for each further run. */
import type { LogLine } from './child.ts';
import type { SampleRun } from './sample-run.ts';

export interface Timeline {
  readonly command_id: string;
  readonly status: string;
  readonly transport: string | null;
  /** Milliseconds after the run was queued. */
  readonly offered_ms: number | null;
  readonly pickup_ms: number | null;
  readonly finished_ms: number | null;
  readonly ticket_ms: number;
  readonly total_ms: number;
  readonly calls: number;
  readonly result: unknown;
  readonly error: string | null;
}

export function timelineOf({ run, ...seen }: SampleRun): Timeline {
  const queued = Date.parse(run.timing.queued_at);
  const after = (at: string | null) => (at === null ? null : Date.parse(at) - queued);
  return {
    command_id: run.command_id,
    status: run.status,
    transport: run.timing.transport,
    offered_ms: after(run.timing.offered_at),
    pickup_ms: run.timing.pickup_ms,
    finished_ms: after(run.timing.finished_at),
    ticket_ms: seen.ticket_ms,
    total_ms: seen.total_ms,
    calls: seen.calls,
    result: run.result ?? null,
    error: run.error,
  };
}

export function timelineText(timeline: Timeline, session: string): string {
  const ms = (value: number | null) => (value === null ? '     –' : `${String(value).padStart(6)} ms`);
  return [
    `Ran "${session}" through an MCP client over ${timeline.transport ?? 'no transport'}:`,
    `  queued    ${ms(0)}`,
    `  offered   ${ms(timeline.offered_ms)}   put into the request that the desktop keeps open`,
    `  started   ${ms(timeline.pickup_ms)}   the desktop asked for the last word, and the run is on disk`,
    `  finished  ${ms(timeline.finished_ms)}   ${timeline.status}`,
    `  The client had its ticket after ${timeline.ticket_ms} ms and the result after ${timeline.total_ms} ms, with ${timeline.calls} calls.`,
    `  Result: ${JSON.stringify(timeline.result)}`,
    ...(timeline.error === null ? [] : [`  Error: ${timeline.error}`]),
  ].join('\n');
}

export function nextSteps(about: {
  url: string;
  tokenFile: string;
  graphs: string;
  logs: string;
  project: string;
  flags: string;
}): string {
  const { url, tokenFile, graphs, logs, project, flags } = about;
  return `
The relay and the desktop are running. What you can do now:
  Connect a client  MCP over Streamable HTTP at ${url}/mcp, header "Authorization: Bearer <token>",
                    the token is in ${tokenFile}. For Claude Code:
                      claude mcp add --transport http graph-relay ${url}/mcp --header "Authorization: Bearer $(cat ${tokenFile})"
  Without a token   npm run graph-relay -- owner link${flags} prints a link: choose a password, then a client needs
                    ${url}/mcp?auth=required and nothing else
  Run it again      npm run graph-relay -- start --again${flags}
  Your own Graph    npm run graph-relay -- desktop new NAME${flags} writes one into ${graphs}; then
                      npm run graph-relay -- desktop share NAME --project ${project}${flags}
  Watch runs        npm run graph-relay -- desktop watch${flags}
  Agents            are answered by a script here; npm run graph-relay -- desktop agents --help says how a model does it
  Logs              ${logs}
Ctrl-C stops both.
`;
}

/** A line for a person, for the events that one wants to see go by; null for all others. */
export function liveLine(line: LogLine): string | null {
  const id = String(line.command_id ?? '').slice(0, 8);
  switch (line.event) {
    case 'command.queued':
      return `  ${id}  queued`;
    case 'command.started':
      return `  ${id}  started after ${line.pickup_ms} ms (${line.transport})`;
    case 'command.ended':
      return `  ${id}  ${line.status}${line.run_ms === null ? '' : ` after ${line.run_ms} ms`}`;
    default:
      return null;
  }
}
