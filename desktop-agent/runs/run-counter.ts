/** How a run is, counted up from its events: as they come, or from its record. */
import type { GraphEvent } from '../run-events.ts';

/** How a run was at some moment before its end. */
export interface RunNow {
  readonly durationMs: number;
  readonly tokens: number;
  readonly cost: number | null;
  /** The tool that waits for the owner. */
  readonly waitsFor: string | null;
}

/** Counts up what happens in a run. */
export class RunCounter {
  readonly #approvals = new Map<string, string>();
  #tokens = 0;
  #cost: number | null = null;

  count(event: GraphEvent): void {
    if (event.type === 'agent_finished') {
      this.#tokens += event.tokens;
      if (event.cost !== null) this.#cost = (this.#cost ?? 0) + event.cost;
    } else if (event.type === 'approval_asked') this.#approvals.set(event.approval, event.tool);
    else if (event.type === 'approval_decided') this.#approvals.delete(event.approval);
  }

  at(durationMs: number): RunNow {
    const waitsFor = [...this.#approvals.values()][0] ?? null;
    return { durationMs, tokens: this.#tokens, cost: this.#cost, waitsFor };
  }
}
