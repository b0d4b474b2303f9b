/**
 * When a recorded call of a replay gets its answer: at the same place among the events as in the record.
 *
 * Owns that order, without a clock. As long as the replay's events are those of the record, each answer comes when all
 * that came before it has happened again; a Graph that was not edited therefore sees exactly what it saw. Once they
 * differ, answers come one at a time, whenever the Graph waits for nothing else, in the order in which they were given.
 */
import { canonicalJson } from '../../protocol/canonical.ts';
import type { GraphEvent } from '../run-events.ts';
import { type Cuts, hashOf } from './bounded-event.ts';
import type { EventLine } from './record-lines.ts';

/** Members that are another value each time. */
const NEW_EACH_TIME = new Set(['duration_ms', 'run_id']);

/** Events that a call brings about by itself; after a release, one of them follows. */
const FOLLOWS_RELEASE: ReadonlySet<GraphEvent['type']> = new Set([
  'agent_finished',
  'tool_finished',
  'tool_refused',
  'approval_asked',
  'approval_decided',
] as const);

interface Waiting {
  readonly index: number;
  readonly release: () => void;
}

export interface ReplayOrderOptions {
  readonly events: readonly EventLine[];
  /** Calls back when all that is under way in this process has come as far as it can by itself. */
  readonly settled: (then: () => void) => void;
  /** Null while the Graph computes; how many waits of `retry` are open while it waits. */
  readonly openRetries: () => number | null;
  /** Lets the earliest of them be over. */
  readonly skipWait: () => void;
}

export class ReplayOrder {
  readonly #expected: readonly string[];
  readonly #options: ReplayOrderOptions;
  readonly #waiting = new Set<Waiting>();
  #next = 0;
  #inStep = true;
  /** Something was let go and has not shown in an event yet. */
  #released = false;
  #settling = false;

  constructor(options: ReplayOrderOptions) {
    this.#options = options;
    this.#expected = options.events.map(({ event, cut }) => signature(event, cut));
  }

  /** True when all events so far were those of the record, and none is missing. */
  get isSame(): boolean {
    return this.#inStep && this.#next === this.#expected.length;
  }

  /** Resolves when it is the turn of the event with this place in the record, or rejects with the signal's reason. */
  turnOf(index: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        index,
        release: () => {
          this.#waiting.delete(waiting);
          signal.removeEventListener('abort', gone);
          resolve();
        },
      };
      const gone = () => {
        this.#waiting.delete(waiting);
        reject(signal.reason);
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', gone, { once: true });
      this.#waiting.add(waiting);
      this.look();
    });
  }

  /** Each event of the replay, as it happens. */
  heard(event: GraphEvent): void {
    if (FOLLOWS_RELEASE.has(event.type)) this.#released = false;
    if (this.#inStep && signature(event) === this.#expected[this.#next]) this.#next += 1;
    else this.#inStep = false;
    this.look();
  }

  /** To be called when something may have happened. */
  look(): void {
    const due = this.#inStep ? [...this.#waiting].find(({ index }) => index === this.#next) : undefined;
    if (due !== undefined && !this.#released) this.#release(due);
    if (this.#settling) return;
    // What has just been told may be on its way to ask for its turn.
    this.#settling = true;
    this.#options.settled(() => {
      this.#settling = false;
      this.#goOn();
    });
  }

  /** When nothing happens by itself any more. */
  #goOn(): void {
    const retries = this.#options.openRetries();
    if (retries === null || this.#released) return;
    const [first] = [...this.#waiting].sort((a, b) => a.index - b.index);
    if (retries > 0 && (this.#inStep || first === undefined)) this.#options.skipWait();
    else if (first !== undefined) {
      this.#inStep = false;
      this.#release(first);
    }
  }

  #release(waiting: Waiting): void {
    this.#released = true;
    waiting.release();
  }
}

/** Equal for events that say the same, also when one of them was cut. */
function signature(event: GraphEvent, cut: Cuts = {}): string {
  const members = Object.entries(event)
    .filter(([name, value]) => !NEW_EACH_TIME.has(name) && value !== undefined)
    .map(([name, value]) => [name, cut[name]?.sha256 ?? hashOf(value)]);
  return canonicalJson(members.sort());
}
