/**
 * What the Graphs of one run share: the outermost, and all that are called.
 *
 * Owns the gates, the wall time and the numbers of the run, and how its events go out. How a run ends is in
 * `graph-execution.ts`, one Graph of it in `graph-frame.ts`.
 */
import type { Ports } from '../../protocol/ports.ts';
import { cleanText } from '../../protocol/text.ts';
import type { GraphRun } from '../ports.ts';
import type { GraphEvent } from '../run-events.ts';
import { AgentGate } from './agent-gate.ts';
import type { AgentProvider } from './agent-provider.ts';
import type { Caller } from './caller.ts';
import type { EngineLimits } from './engine-limits.ts';
import type { GraphFrame } from './graph-frame.ts';
import { GraphGate } from './graph-gate.ts';
import type { GraphShelf } from './graph-shelf.ts';
import { Programs } from './program.ts';
import { RetryWaits } from './retry-waits.ts';
import type { SandboxPool } from './sandbox-pool.ts';
import { ToolGate } from './tool-gate.ts';
import type { ToolHost } from './tool-host.ts';
import { WallTime } from './wall-time.ts';
import { Waves } from './waves.ts';

/** What an engine gives to each run. */
export interface EngineParts {
  readonly ports: Pick<Ports, 'clock' | 'ids' | 'log'>;
  readonly provider: AgentProvider;
  readonly tools: ToolHost;
  readonly graphs: GraphShelf;
  readonly limits: EngineLimits;
  readonly pool: SandboxPool;
}

export interface FleetOptions {
  readonly commandId: string;
  readonly runId: string;
  readonly emit: (event: GraphEvent) => void;
  readonly onQuiet?: GraphRun['onQuiet'];
}

export class Fleet {
  readonly limits: EngineLimits;
  readonly pool: SandboxPool;
  readonly wall: WallTime;
  readonly waves: Waves;
  readonly agents: AgentGate;
  readonly tools: ToolGate;
  readonly graphs: GraphGate;
  readonly retries: RetryWaits;
  readonly programs: Programs;
  /** The Graphs that run. */
  readonly frames = new Set<GraphFrame>();
  readonly #emit: (event: GraphEvent) => void;
  readonly #onQuiet: GraphRun['onQuiet'];
  #shown = 0;

  constructor({ ports, provider, tools, graphs, limits, pool }: EngineParts, options: FleetOptions) {
    const { commandId, runId } = options;
    const { clock } = ports;
    const onChange = (): void => this.reckon();
    const emit = (event: GraphEvent, caller: Caller): void => this.emit(event, caller);
    this.#emit = options.emit;
    this.#onQuiet = options.onQuiet;
    this.limits = limits;
    this.pool = pool;
    this.wall = new WallTime(clock);
    this.waves = new Waves({ clock, emit: options.emit, busy: () => this.agents.busy });
    const { answerChars } = limits;
    this.agents = new AgentGate({ provider, clock, runId, answerChars, waves: this.waves, emit, onChange });
    this.tools = new ToolGate({ host: tools, clock, commandId, runId, limits, emit, onChange });
    this.graphs = new GraphGate({ shelf: graphs, clock, fleet: this });
    this.programs = new Programs(limits.sourceChars);
    this.retries = new RetryWaits({ clock, emit, onChange });
  }

  /** Tells of something that happened in one Graph of the run. */
  emit(event: GraphEvent, caller: Caller): void {
    this.#emit(caller.number === null ? event : ({ ...event, within: caller.number } as GraphEvent));
  }

  /** A log line or a phase's title. Beyond the limit one line says that the rest is dropped. */
  show(type: 'log' | 'phase', shown: { readonly text: string; readonly caller: Caller }): void {
    const { logChars, logEvents } = this.limits;
    this.#shown += 1;
    const text = cleanText(shown.text, logChars);
    if (this.#shown <= logEvents) {
      this.emit(type === 'log' ? { type, message: text } : { type, title: text }, shown.caller);
    } else if (this.#shown === logEvents + 1) {
      this.#emit({ type: 'log', message: `This run has shown ${logEvents} log lines; the rest is dropped.` });
    }
  }

  /** Whether each Graph of the run waits, and has seen all that it was told. */
  get isQuiet(): boolean {
    return this.graphs.looking === 0 && [...this.frames].every(({ idle }) => idle);
  }

  /** The wall time stands still while the owner is asked and nothing else of the run goes on. */
  reckon(): void {
    const { agents, tools, retries } = this;
    const worksOn = agents.running > 0 || tools.working > 0 || retries.open > 0;
    this.wall.stand(tools.parked > 0 && !worksOn && this.isQuiet);
    if (this.isQuiet) this.#onQuiet?.();
  }
}
