/** What the relay's answers to an agent mean, as facts. */
import type { AgentApi, AgentPrincipal, RunRequest, RunView } from '../../../server/agent-api.ts';
import { AgentError } from '../../../server/agent-api.ts';
import type { FactBody, History, ToldRun } from '../history.ts';
import type { Life } from './machine.ts';

/** The relay as one agent reaches it, in one life of the relay. Writes down whatever is said, in that moment. */
export interface Counter {
  readonly api: AgentApi;
  readonly life: Life;
  readonly principal: AgentPrincipal;
  readonly name: string;
  /** Aborted when nobody waits for the answer any more: then nobody is told. */
  readonly signal: AbortSignal;
  readonly history: History;
}

type Told = Extract<FactBody, { type: 'told' }>;

/** One spelling for requests that mean the same. */
export function askedText(request: RunRequest): string {
  const entries = Object.entries(request.arguments).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([request.graph_session_id, entries, request.start_within_seconds ?? null]);
}

/** Resolves with the command's id, or null when nothing was started. */
export async function askToRun(counter: Counter, request: RunRequest): Promise<string | null> {
  const { api, principal, name, history } = counter;
  const asked = { agent: name, key: request.idempotency_key, asked: askedText(request), askedAt: history.now };
  try {
    const ticket = await api.runSession(principal, request);
    if (!isHeard(counter)) return null;
    const { command_id, replayed, graph_session_id } = ticket;
    const { start_within_seconds: within } = request;
    const withinMs = within === undefined ? null : within * 1_000;
    history.add({ type: 'ticket', ...asked, withinMs, commandId: command_id, replayed, session: graph_session_id });
    addTold(counter, { commandId: command_id, askedAt: asked.askedAt, by: 'start', run: toldRun(ticket) });
    return command_id;
  } catch (error) {
    if (isHeard(counter) && error instanceof AgentError) history.add({ type: 'run-refused', ...asked });
    return null;
  }
}

export async function askForRun(
  counter: Counter,
  read: { commandId: string; waitMs: number; by: 'read' | 'audit' },
): Promise<void> {
  const { api, principal, signal } = counter;
  const { commandId, waitMs, by } = read;
  await tell(counter, { commandId, by }, () => api.getRun(principal, { command_id: commandId, waitMs, signal }));
}

export async function askToCancel(counter: Counter, commandId: string): Promise<void> {
  const { api, principal } = counter;
  await tell(counter, { commandId, by: 'cancel' }, () => api.cancelRun(principal, { command_id: commandId }));
}

async function tell(
  counter: Counter,
  of: { commandId: string; by: Told['by'] },
  ask: () => Promise<RunView>,
): Promise<void> {
  const askedAt = counter.history.now;
  try {
    const run = toldRun(await ask());
    if (isHeard(counter)) addTold(counter, { ...of, askedAt, run });
  } catch (error) {
    if (!isHeard(counter) || !(error instanceof AgentError)) return;
    counter.history.add({ type: 'not-found', agent: counter.name, commandId: of.commandId, askedAt });
  }
}

function isHeard({ life, signal }: Counter): boolean {
  return life.alive && !signal.aborted;
}

function addTold({ name, history }: Counter, told: Omit<Told, 'type' | 'agent'>): void {
  history.add({ type: 'told', agent: name, ...told });
  // An auditor reads too often to be worth a line.
  if (told.by !== 'audit') history.tell(name, `is told ${told.run.status}`, told.commandId);
}

function toldRun(view: RunView): ToldRun {
  return {
    status: view.status,
    executionId: view.execution_id,
    cancelRequested: view.cancel_requested,
    result: view.result === undefined ? null : JSON.stringify(view.result),
    error: view.error,
    projectId: view.project_id,
    session: view.graph_session_id,
  };
}
