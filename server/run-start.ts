/**
 * The start call of a connected agent: from a request to a run in the queue, once for each idempotency key.
 *
 * Owns the key and what it stands for, and the refusals of a run that cannot be queued. Looking for the key and writing
 * the row happen in one turn, so calls at the same time cannot both find nothing.
 */
import { createHash } from 'node:crypto';
import { argumentProblems } from '../protocol/arguments-schema.ts';
import { canonicalJson } from '../protocol/canonical.ts';
import { isWaiting, newLife } from '../protocol/command-machine.ts';
import { RelayError } from '../protocol/errors.ts';
import { ARGUMENTS_CHARS } from '../protocol/limits.ts';
import { withoutPatterns } from '../protocol/schema-patterns.ts';
import { AgentError, type AgentPrincipal, type RunRequest } from './agent-api.ts';
import type { AgentCallsOptions } from './agent-calls.ts';
import type { Offering } from './desktop-book.ts';
import type { CommandRow } from './rows.ts';

export interface StartedRun {
  readonly row: CommandRow;
  /** The key was used before: this is the same run. */
  readonly replayed: boolean;
  /** Another run of this agent with the same session and arguments that still waits. */
  readonly identicalWaiting: string | null;
}

export class RunStart {
  readonly #options: AgentCallsOptions;

  constructor(options: AgentCallsOptions) {
    this.#options = options;
  }

  /** Puts the run into the queue, in memory at once; whoever tells the caller waits for the disk before. */
  start(agent: AgentPrincipal, request: RunRequest): StartedRun {
    const { commands, limits } = this.#options;
    const requestHash = hashOf(request, limits.startByDefaultMs);
    const earlier = commands.byKey(agent.agentId, request.idempotency_key);
    if (earlier !== null && earlier.requestHash !== requestHash) {
      throw new AgentError(
        `This idempotency_key was used before for another run (${earlier.commandId}), so nothing was started. Use a new key for a new run; repeat the same session and arguments to get the earlier ticket.`,
      );
    }
    if (earlier !== null) return { row: earlier, replayed: true, identicalWaiting: null };
    const offering = this.#offeringFor(agent, request);
    const identicalWaiting = this.#identicalTo(agent, offering, requestHash);
    return { row: this.#enqueue(agent, request, { offering, requestHash }), replayed: false, identicalWaiting };
  }

  #enqueue(
    agent: AgentPrincipal,
    request: RunRequest,
    { offering, requestHash }: { offering: Offering; requestHash: string },
  ): CommandRow {
    const { commands, dispatcher, limits, ports } = this.#options;
    const now = ports.clock.now();
    const within = request.start_within_seconds;
    const row: CommandRow = {
      ...newLife(now),
      commandId: ports.ids.uuid(),
      agentId: agent.agentId,
      projectId: offering.projectId,
      graphSessionId: offering.session.graph_session_id,
      desktopId: offering.desktopId,
      slug: offering.session.slug,
      arguments: request.arguments,
      idempotencyKey: request.idempotency_key,
      requestHash,
      sequence: commands.nextSequence(),
      startBy: now + (within === undefined ? limits.startByDefaultMs : within * 1_000),
      transport: null,
    };
    commands.add(row);
    dispatcher.dispatch(row.desktopId);
    return row;
  }

  /** The session as it is shared now, when it can take this run. */
  #offeringFor(agent: AgentPrincipal, request: RunRequest): Offering {
    const offering = this.#options.desktops.find(agent.projects, request.graph_session_id);
    if (offering === null) {
      throw new AgentError(
        `Graph session not found or not shared: ${request.graph_session_id}. list_graph_sessions shows what is shared now.`,
      );
    }
    if (offering.session.status === 'broken') {
      throw new AgentError(
        `The Graph "${offering.session.name}" does not parse at the moment, so it cannot run. Its owner sees the error on the desktop.`,
      );
    }
    if (JSON.stringify(request.arguments).length > ARGUMENTS_CHARS) {
      throw new AgentError(
        `The arguments are longer than ${ARGUMENTS_CHARS} characters of JSON. Pass a reference to the data instead.`,
      );
    }
    this.#refuseFullQueue(offering);
    // The dearest look is the last one: what is too long or has no place is not held against a schema.
    refuseUnfit(offering, request);
    return offering;
  }

  #refuseFullQueue({ desktopId, projectId }: Offering): void {
    const { commands, limits } = this.#options;
    const { queuedPerDesktop, queuedPerProject } = limits;
    const full =
      commands.waitingAhead(desktopId) >= queuedPerDesktop
        ? `${queuedPerDesktop} runs are waiting for this desktop`
        : commands.waitingIn(projectId) >= queuedPerProject
          ? `${queuedPerProject} runs are waiting in this project`
          : null;
    if (full === null) return;
    throw new RelayError(
      'queue-full',
      `${full}, and no more are taken. Nothing was queued. Wait until some have run, or cancel some with cancel_graph_run.`,
    );
  }

  #identicalTo(agent: AgentPrincipal, { desktopId }: Offering, requestHash: string): string | null {
    for (const row of this.#options.commands.live(desktopId)) {
      if (row.agentId === agent.agentId && row.requestHash === requestHash && isWaiting(row.status))
        return row.commandId;
    }
    return null;
  }
}

/** What does not fit the Graph's own schema is refused before it waits in a queue for its failure. */
function refuseUnfit({ session }: Offering, { graph_session_id, arguments: args }: RunRequest): void {
  if (session.arguments_schema === undefined) return;
  const problems = argumentProblems(withoutPatterns(session.arguments_schema), args);
  if (problems.length === 0) return;
  throw new AgentError(
    `${problems.join('; ')} Nothing was queued. arguments_schema of ${graph_session_id} in list_graph_sessions says what "${session.name}" takes.`,
  );
}

/**
 * What an idempotency key stands for: the session, the arguments by meaning, and the start-by time where it is not the
 * usual one, so that leaving it out and naming the default are the same request.
 */
function hashOf(request: RunRequest, startByDefaultMs: number): string {
  const { graph_session_id, arguments: args, start_within_seconds: within } = request;
  const isUsual = within === undefined || within * 1_000 === startByDefaultMs;
  const meaning = isUsual ? [graph_session_id, args] : [graph_session_id, args, within];
  return createHash('sha256').update(canonicalJson(meaning)).digest('hex');
}
