/**
 * The tools' answers in a few words, for models: what happened, and what to do next. Programs read the data beside it.
 *
 * Must say nothing that the data does not have. A result is never put into words: it follows as a text of its own, as
 * the JSON that the Graph returned.
 */
import { hasEnded } from '../../protocol/command-machine.ts';
import { cleanText } from '../../protocol/text.ts';
import type { DesktopPresence, ListedSession, OwnerAsked, RunTicket, RunView, SessionList } from '../agent-api.ts';
import type { UnchangedRun } from './last-told.ts';

/** Of a description. A hundred words choose a Graph; fifty sessions with all that they may say fill a model's context. */
const DESCRIPTION_CHARS = 600;

export function listText({ project_id, sessions, active_runs = [] }: SessionList): string {
  const head =
    sessions.length === 0
      ? `Nothing is shared with project ${project_id}. The owner shares Graph sessions on the desktop.`
      : `${sessions.length} Graph ${sessions.length === 1 ? 'session' : 'sessions'} in project ${project_id}:`;
  const runs = active_runs.map(
    ({ command_id, graph_session_id, status, awaiting_approval: asked, age_seconds }) =>
      `${command_id} of ${graph_session_id}: ${status}, queued ${age_seconds} s ago${asked ? `, ${askedText(asked)}` : ''}`,
  );
  return [head, ...sessions.map(sessionLine), ...(runs.length > 0 ? ['Your runs that have not ended:', ...runs] : [])]
    .join('\n')
    .trim();
}

function sessionLine({ graph_session_id, name, description, status, desktop, ...more }: ListedSession): string {
  const { typical_run, arguments_schema: schema } = more;
  const broken = status === 'ready' ? '' : ` (${status})`;
  const about = description === '' ? '' : `: ${cleanText(description, DESCRIPTION_CHARS)}`;
  const usually = typical_run === null ? '' : `, usually takes ${secondsOf(typical_run.median_ms)}`;
  const takes = schema === undefined ? '' : ` Arguments: ${JSON.stringify(schema)}`;
  return `${graph_session_id} "${name}"${broken}${about} [${presenceText(desktop)}${usually}]${takes}`;
}

export function ticketText(ticket: RunTicket, now: number): string {
  const { command_id, replayed, identical_waiting_run } = ticket;
  const again = replayed ? ' This key was used before: it is the same run.' : '';
  const twin =
    identical_waiting_run === undefined
      ? ''
      : ` An identical run waits already: ${identical_waiting_run}. Is this one meant?`;
  return `command_id ${command_id}. ${runText(ticket, now)}${again}${twin}`;
}

export function runText(run: RunView, now: number): string {
  if (hasEnded(run.status)) return endText(run);
  return `${stateText(run, now)} ${nextText(run.check_after_seconds)}`;
}

/** How the run stands, and no advice. */
export function stateText(run: RunView, now: number): string {
  if (hasEnded(run.status)) return endText(run);
  const stop = run.cancel_requested ? ' A stop was asked for.' : '';
  const since = secondsOf(now - Date.parse(run.timing.started_at ?? run.timing.queued_at));
  const state =
    run.status === 'running'
      ? `Running for ${since}.`
      : `Queued for ${since}, ${aheadText(run.ahead ?? 0)}; ${presenceText(run.desktop)}.`;
  const asked = run.awaiting_approval;
  const waits = asked === undefined ? '' : ` It ${askedText(asked)}; all you can do is wait or cancel.`;
  return `${state}${waits}${stop}`;
}

function askedText({ tool, since }: OwnerAsked): string {
  return `waits for the owner's approval of tool ${tool} since ${since}`;
}

/** Nothing that the caller has not been told how to do. */
export function unchangedText({ status, for_seconds, check_after_seconds }: UnchangedRun, asked: boolean): string {
  const waits = asked ? ', and waits for its owner' : '';
  return `Still ${status} (${for_seconds} s)${waits}. Look again in ${check_after_seconds ?? 1} s.`;
}

function nextText(checkAfterSeconds: number | null): string {
  return `Call get_graph_run with wait_seconds, or in ${checkAfterSeconds ?? 1} s.`;
}

function endText({ status, timing, error, total_tokens, result_truncated, ...run }: RunView): string {
  const took = timing.run_ms === null ? '' : ` after ${secondsOf(timing.run_ms)}`;
  const tokens = total_tokens === null || total_tokens === 0 ? '' : `, ${total_tokens} tokens`;
  const head = `${status[0]!.toUpperCase()}${status.slice(1)}${took}${tokens}`;
  if (result_truncated) {
    const size = run.result_chars == null ? '' : ` of ${run.result_chars} characters`;
    return `${head}. Its result${size} did not fit into ${run.result_limit_chars}; the owner has it on the desktop.`;
  }
  if (error !== null) return `${head}: ${error}`;
  return 'result' in run ? `${head}. Its result follows.` : `${head}.`;
}

function aheadText(ahead: number): string {
  return ahead === 0 ? 'next in line' : `${ahead} ahead of it`;
}

function presenceText({ online, transport, asleep, asleep_since, last_seen_at }: DesktopPresence): string {
  if (online) return `desktop online over ${transport}`;
  if (asleep) return `desktop asleep since ${asleep_since ?? last_seen_at}`;
  return last_seen_at === null ? 'desktop offline' : `desktop offline, last seen ${last_seen_at}`;
}

/** Three digits are enough to choose by. */
function secondsOf(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000;
  return `${seconds < 10 ? Math.round(seconds * 100) / 100 : Math.round(seconds)} s`;
}
