/**
 * One run of a Graph on the host thread, from `fleet_started` to `finished`.
 *
 * Owns the run's state and its one end: whatever ends it first (a result, a failure, a cancel, the wall time, a broken
 * sandbox) decides, everything later is ignored. It computes nothing of the Graph itself.
 */

import { argumentProblems } from '../../protocol/arguments-schema.ts';
import { ERROR_CHARS } from '../../protocol/limits.ts';
import type { Ports, Timer } from '../../protocol/ports.ts';
import { cleanText } from '../../protocol/text.ts';
import type { GraphRun, RunningGraph, RunOutcome } from '../ports.ts';
import type { GraphEvent } from '../run-events.ts';
import { AgentGate } from './agent-gate.ts';
import type { AgentProvider } from './agent-provider.ts';
import type { EngineLimits } from './engine-limits.ts';
import { type GraphMeta, GraphSourceError, type ParsedGraph, parseGraph } from './graph-source.ts';
import type { Sandbox } from './sandbox.ts';
import type { FromSandbox } from './sandbox-messages.ts';
import type { SandboxPool } from './sandbox-pool.ts';

const NAME_CHARS = 200;

export interface ExecutionParts {
  readonly ports: Pick<Ports, 'clock' | 'ids' | 'log'>;
  readonly provider: AgentProvider;
  readonly limits: EngineLimits;
  readonly pool: SandboxPool;
}

/** The smaller of what the Graph wants and what the owner allows. */
function lower(wanted: number | undefined, allowed: number): number {
  return Math.min(wanted ?? allowed, allowed);
}

export class GraphExecution implements RunningGraph {
  readonly done: Promise<RunOutcome>;
  readonly runId: string;
  readonly #run: GraphRun;
  readonly #parts: ExecutionParts;
  #resolve!: (outcome: RunOutcome) => void;
  #gate: AgentGate | null = null;
  #sandbox: Sandbox | null = null;
  #wallTimer: Timer | null = null;
  #announced = false;
  #ended = false;
  #shown = 0;
  #released: Promise<unknown> = Promise.resolve();

  constructor(run: GraphRun, parts: ExecutionParts) {
    this.#run = run;
    this.#parts = parts;
    this.runId = parts.ports.ids.uuid();
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Called once. Never throws: whatever is wrong with the Graph is how its run ends. */
  begin(): void {
    this.#announce();
    if (this.#ended) return; // cancelled before, or by the listener just now
    try {
      this.#launch();
    } catch (error) {
      this.#fail(error instanceof GraphSourceError ? error.message : cleanText(error, ERROR_CHARS));
    }
  }

  cancel(reason: string): void {
    this.#end({ status: 'cancelled', resultJson: null, error: cleanText(reason, ERROR_CHARS) });
  }

  /** Resolves when the worker is gone and each provider has let go; only after the run has ended. */
  async released(): Promise<void> {
    await this.#released;
  }

  #launch(): void {
    const { limits, pool, ports } = this.#parts;
    const fileName = cleanText(this.#run.name, NAME_CHARS) || 'graph.js';
    const graph = this.#parse(fileName);
    const problems = graph.meta.arguments === undefined ? [] : argumentProblems(graph.meta.arguments, this.#run.args);
    if (problems.length > 0) throw new Error(`${problems.join('; ')}. Nothing was started.`);
    const gate = this.#createGate(graph.meta);
    this.#gate = gate;
    const wallMs = lower(graph.meta.limits?.wall_ms, limits.wallMs);
    this.#wallTimer = ports.clock.after(wallMs, () => this.#fail(`the run took longer than its ${wallMs} ms`));
    const argsJson = JSON.stringify(this.#run.args);
    this.#sandbox = pool.take();
    this.#sandbox.begin(
      { type: 'start', fileName, body: graph.body, argsJson, budgetTotal: this.#ceiling(graph.meta) },
      { onMessage: (message) => this.#receive(message), onBroken: (reason) => this.#fail(reason) },
    );
  }

  #parse(fileName: string): ParsedGraph {
    const { source } = this.#run;
    const { sourceChars } = this.#parts.limits;
    if (source.length > sourceChars) throw new Error(`the Graph's file is longer than ${sourceChars} characters`);
    return parseGraph(source, fileName);
  }

  #ceiling(meta: GraphMeta): number | null {
    const wanted = meta.limits?.total_tokens ?? null;
    const allowed = this.#parts.limits.totalTokens;
    return wanted === null || allowed === null ? (wanted ?? allowed) : Math.min(wanted, allowed);
  }

  #createGate(meta: GraphMeta): AgentGate {
    const { limits, ports, provider } = this.#parts;
    return new AgentGate({
      provider,
      clock: ports.clock,
      runId: this.runId,
      concurrency: lower(meta.limits?.max_concurrency ?? limits.defaultConcurrency, limits.maxConcurrency),
      total: this.#ceiling(meta),
      answerChars: limits.answerChars,
      emit: (event) => this.#emit(event),
      answer: (answer) => this.#sandbox?.send({ type: 'answer', ...answer }),
    });
  }

  #receive(message: FromSandbox): void {
    if (this.#ended) return;
    switch (message.type) {
      case 'ready':
        return;
      case 'idle':
        this.#parts.pool.warmUpSoon();
        return;
      case 'agent':
        this.#gate?.request({ ...message, label: cleanText(message.label, NAME_CHARS) });
        return;
      case 'log':
      case 'phase':
        this.#show(message);
        return;
      case 'returned':
        this.#end({ status: 'completed', resultJson: message.json, error: null });
        return;
      case 'failed':
        this.#fail(message.reason);
        return;
    }
  }

  #show(message: FromSandbox & { type: 'log' | 'phase' }): void {
    const { logChars, logEvents } = this.#parts.limits;
    this.#shown += 1;
    // The worker drops the rest and says so in one line; here nobody is told twice.
    if (this.#shown > logEvents + 1) return;
    const text = cleanText(message.text, logChars);
    this.#emit(message.type === 'log' ? { type: 'log', message: text } : { type: 'phase', title: text });
  }

  #fail(reason: string): void {
    const error = cleanText(reason, ERROR_CHARS) || 'the Graph failed without a reason';
    this.#end({ status: 'failed', resultJson: null, error });
  }

  #end(end: Pick<RunOutcome, 'status' | 'resultJson' | 'error'>): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#announce(); // a run that is cancelled before it began has both events too
    this.#wallTimer?.cancel();
    const { pool } = this.#parts;
    const gone = this.#sandbox === null ? null : pool.discard(this.#sandbox);
    this.#released = Promise.all([gone, this.#gate?.close()]);
    pool.warmUpSoon();
    const outcome = { ...end, totalTokens: this.#gate?.spent ?? 0, reportedCost: this.#gate?.cost ?? null };
    const { status, error } = end;
    this.#emit({ type: 'finished', status, tokens: outcome.totalTokens, cost: outcome.reportedCost, error });
    this.#resolve(outcome);
  }

  #announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    this.#emit({ type: 'fleet_started', run_id: this.runId });
  }

  /** A listener that throws must not change how the run ends. */
  #emit(event: GraphEvent): void {
    try {
      this.#run.onEvent(event);
    } catch (error) {
      const reason = cleanText(error, ERROR_CHARS);
      this.#parts.ports.log.error('graph.listener_failed', {
        command_id: this.#run.commandId,
        event: event.type,
        reason,
      });
    }
  }
}
