/**
 * Who may call another Graph: the calls of `graph` in one run.
 *
 * Owns which Graph is meant, whether it may be called from here, and when it starts. At each depth only so many run at
 * once: a Graph never waits for the place of one that waits for it.
 */
import { ERROR_CHARS } from '../../protocol/limits.ts';
import type { Clock } from '../../protocol/ports.ts';
import { cleanText } from '../../protocol/text.ts';
import { GRAPH_ENDED } from './caller.ts';
import type { Fleet } from './fleet.ts';
import { type FrameEnd, GraphFrame } from './graph-frame.ts';
import type { GraphShelf, ShelvedGraph } from './graph-shelf.ts';
import type { Program } from './program.ts';

export interface GraphCall {
  /** In its Graph. */
  readonly id: number;
  readonly reference: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface GraphGateOptions {
  readonly shelf: GraphShelf;
  readonly clock: Clock;
  readonly fleet: Fleet;
}

interface WaitingGraph {
  readonly call: GraphCall;
  readonly caller: GraphFrame;
  /** In the run. */
  readonly number: number;
  readonly program: Program;
  readonly version: number | null;
}

interface RunningGraph extends WaitingGraph {
  readonly frame: GraphFrame;
  readonly startedAt: number;
}

export class GraphGate {
  readonly #options: GraphGateOptions;
  #waiting: WaitingGraph[] = [];
  readonly #running = new Set<RunningGraph>();
  #asked = 0;
  #looking = 0;

  constructor(options: GraphGateOptions) {
    this.#options = options;
  }

  /** Calls whose Graph is being looked for. */
  get looking(): number {
    return this.#looking;
  }

  request(call: GraphCall, caller: GraphFrame): void {
    const limit = caller.allowance.take('graphCalls');
    if (limit === null) void this.#find(call, caller);
    else this.#refuse(call, caller, ['GraphLimitExceeded', `a run can call ${limit} Graphs and no more`]);
  }

  /** Ends the Graphs that this one has called. Resolves when each has let go; never rejects. */
  async close(caller: GraphFrame): Promise<void> {
    this.#waiting = this.#waiting.filter((graph) => graph.caller !== caller);
    const closed: Promise<void>[] = [];
    for (const graph of this.#running) {
      if (graph.caller !== caller) continue;
      this.#running.delete(graph);
      closed.push(graph.frame.close());
      this.#tellEnd(graph, GRAPH_ENDED);
    }
    this.#admit();
    await Promise.all(closed);
  }

  /** Never rejects. */
  async #find(call: GraphCall, caller: GraphFrame): Promise<void> {
    this.#asked += 1;
    const number = this.#asked;
    this.#looking += 1;
    let found: ShelvedGraph | null = null;
    let problem: unknown = null;
    try {
      found = await this.#options.shelf.find(call.reference);
    } catch (error) {
      problem = error;
    }
    this.#looking -= 1;
    if (caller.ended) return;
    try {
      if (problem !== null) throw problem;
      const program = this.#admissible(found, call, caller);
      this.#waiting.push({ call, caller, number, program, version: found?.version ?? null });
    } catch (error) {
      this.#refuse(call, caller, [
        'GraphRefused',
        cleanText(error instanceof Error ? error.message : error, ERROR_CHARS),
      ]);
    }
    this.#admit();
  }

  /** Throws with the reason when this Graph may not be called from here. */
  #admissible(found: ShelvedGraph | null, call: GraphCall, caller: GraphFrame): Program {
    if (found === null) {
      throw new Error(`there is no Graph "${call.reference}" on this desktop, or more than one with that name`);
    }
    const path = [...caller.path, found.slug].join(' → ');
    if (caller.path.includes(found.slug)) throw new Error(`Graphs must not call each other in a circle: ${path}`);
    const { programs, limits } = this.#options.fleet;
    const { graphDepth } = limits;
    if (caller.path.length >= graphDepth) {
      throw new Error(`Graphs may call each other ${graphDepth} deep, the first included: ${path}`);
    }
    return programs.read(found, call.args);
  }

  #refuse(call: GraphCall, caller: GraphFrame, [errorName, reason]: readonly [string, string]): void {
    this.#options.fleet.emit({ type: 'graph_refused', slug: call.reference, reason }, caller);
    caller.answer({ id: call.id, text: reason, error: { name: errorName, final: true } });
  }

  #admit(): void {
    for (let graph = this.#next(); graph !== undefined; graph = this.#next()) this.#start(graph);
    this.#options.fleet.reckon();
  }

  /** In the order of asking, but past those without room at their depth or whose Graph is ending. */
  #next(): WaitingGraph | undefined {
    const index = this.#waiting.findIndex(({ caller }) => !caller.ended && this.#hasRoom(caller.path.length));
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
  }

  #hasRoom(depth: number): boolean {
    const beside = [...this.#running].filter(({ caller }) => caller.path.length === depth);
    return beside.length < this.#options.fleet.limits.graphsAtOnce;
  }

  #start(waiting: WaitingGraph): void {
    const { fleet, clock } = this.#options;
    const { program, caller, number, version } = waiting;
    const frame: GraphFrame = new GraphFrame(fleet, program, {
      number,
      caller,
      onEnd: (end) => this.#settle(graph, end),
    });
    const graph: RunningGraph = { ...waiting, frame, startedAt: clock.monotonic() };
    this.#running.add(graph);
    fleet.emit({ type: 'graph_started', graph: number, slug: program.slug, version, args: program.args }, caller);
    if (this.#running.has(graph)) frame.begin();
  }

  #settle(graph: RunningGraph, end: FrameEnd): void {
    if (!this.#running.delete(graph)) return;
    const { call, caller, program } = graph;
    const { id } = call;
    this.#tellEnd(graph, end.error);
    if (end.error === null) caller.answer({ id, text: end.resultJson, error: null });
    else caller.answer({ id, text: `${program.slug}: ${end.error}`, error: { name: 'GraphError', final: end.final } });
    this.#admit();
  }

  #tellEnd({ number, program, caller, startedAt }: RunningGraph, error: string | null): void {
    const { fleet, clock } = this.#options;
    const duration = Math.max(0, Math.round(clock.monotonic() - startedAt));
    const end = { ok: error === null, duration_ms: duration, error };
    fleet.emit({ type: 'graph_finished', graph: number, slug: program.slug, ...end }, caller);
  }
}
