/**
 * One run of a Graph on the host thread, from `fleet_started` to `finished`.
 *
 * Owns the run's one end: whatever ends it first (a result, a failure, a cancel) decides, everything later is ignored.
 * What happens in between is in `graph-frame.ts` and `fleet.ts`.
 */
import { ERROR_CHARS } from '../../protocol/limits.ts';
import { cleanText } from '../../protocol/text.ts';
import type { GraphRun, RunningGraph, RunOutcome } from '../ports.ts';
import type { GraphEvent } from '../run-events.ts';
import { type EngineParts, Fleet } from './fleet.ts';
import { GraphFrame } from './graph-frame.ts';
import { GraphSourceError } from './graph-source.ts';

export class GraphExecution implements RunningGraph {
  readonly done: Promise<RunOutcome>;
  readonly runId: string;
  readonly #run: GraphRun;
  readonly #parts: EngineParts;
  readonly #fleet: Fleet;
  #resolve!: (outcome: RunOutcome) => void;
  #outermost: GraphFrame | null = null;
  #announced = false;
  #ended = false;
  /** The last event is out. */
  #told = false;
  #released: Promise<unknown> = Promise.resolve();

  constructor(run: GraphRun, parts: EngineParts) {
    this.#run = run;
    this.#parts = parts;
    this.runId = parts.ports.ids.uuid();
    const emit = (event: GraphEvent): void => this.#emit(event);
    const { commandId, onQuiet } = run;
    this.#fleet = new Fleet(parts, { commandId, runId: this.runId, emit, ...(onQuiet && { onQuiet }) });
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

  openRetries(): number | null {
    return this.#fleet.isQuiet ? this.#fleet.retries.open : null;
  }

  /** Resolves when each worker is gone and each provider and tool has let go; only after the run has ended. */
  async released(): Promise<void> {
    await this.#released;
  }

  #launch(): void {
    const program = this.#fleet.programs.read(this.#run, this.#run.args);
    this.#outermost = new GraphFrame(this.#fleet, program, {
      number: null,
      caller: null,
      onEnd: ({ resultJson, error }) => {
        if (error === null) this.#end({ status: 'completed', resultJson, error });
        else this.#fail(error);
      },
    });
    this.#outermost.begin();
  }

  #fail(reason: string): void {
    this.#end({ status: 'failed', resultJson: null, error: cleanText(reason, ERROR_CHARS) });
  }

  #end(end: Pick<RunOutcome, 'status' | 'resultJson' | 'error'>): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#announce(); // a run that is cancelled before it began has both events too
    this.#released = this.#outermost?.close() ?? Promise.resolve();
    this.#parts.pool.warmUpSoon();
    const totalTokens = this.#outermost?.allowance.spent ?? 0;
    const reportedCost = this.#fleet.agents.cost;
    const { status, error } = end;
    this.#emit({ type: 'finished', status, tokens: totalTokens, cost: reportedCost, error });
    this.#told = true;
    this.#resolve({ ...end, totalTokens, reportedCost });
  }

  #announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    this.#emit({ type: 'fleet_started', run_id: this.runId });
  }

  /** A listener that throws must not change how the run ends. */
  #emit(event: GraphEvent): void {
    if (this.#told) return;
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
