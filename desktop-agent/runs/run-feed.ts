/**
 * Events of runs for those who look on: a channel for each run, `graph:external:<command_id>`, and one for all of them.
 *
 * Owns the sequence numbers and what is kept for a reader between two calls. A reader names the last number that it has
 * seen and gets what came after, or waits for it; what was forgotten meanwhile is counted and told. A reader that is
 * slow or gone costs a bounded amount of memory, and never holds up a run.
 */
import { RelayError } from '../../protocol/errors.ts';
import { runChannel } from '../../protocol/ids.ts';
import type { Clock, Ids } from '../../protocol/ports.ts';
import { pause } from '../../protocol/waiting.ts';
import type { HistoryLimits } from './history-limits.ts';
import type { EventLine } from './record-lines.ts';

export interface FeedEvent extends Omit<EventLine, 'kind'> {
  /** The event's number in the channel that was asked for; in a run's own channel it is `n`. */
  readonly seq: number;
  readonly command_id: string;
}

export interface FeedAnswer {
  /** Names this start of the desktop: the numbers of another start mean nothing here. */
  readonly feed: string;
  readonly events: readonly FeedEvent[];
  /** Ask with this number next time. */
  readonly next: number;
  /** Events between `after` and the first one here that are not kept any more. */
  readonly missed: number;
  /** The run is over, and this was its last event. Never for all runs. */
  readonly ended: boolean;
}

export interface FeedQuestion {
  /** The last number seen: 0 for all that is kept; left out for what comes from now on. */
  readonly after?: number | undefined;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

type FeedLimits = Pick<HistoryLimits, 'liveEvents' | 'liveChars' | 'endedChannels' | 'answerEvents' | 'heldReaders'>;

class Channel {
  readonly #limits: FeedLimits;
  #kept: { readonly event: FeedEvent; readonly chars: number }[] = [];
  #chars = 0;
  #last = 0;
  #readers = new Set<() => void>();
  ended = false;

  constructor(limits: FeedLimits) {
    this.#limits = limits;
  }

  get last(): number {
    return this.#last;
  }

  publish(event: Omit<FeedEvent, 'seq'>, chars: number): void {
    this.#last += 1;
    this.#kept.push({ event: { seq: this.#last, ...event }, chars });
    this.#chars += chars;
    while (this.#kept.length > this.#limits.liveEvents || this.#chars > this.#limits.liveChars) {
      this.#chars -= this.#kept.shift()?.chars ?? this.#chars;
    }
    this.wake();
  }

  wake(): void {
    const readers = this.#readers;
    this.#readers = new Set();
    for (const read of readers) read();
  }

  /** Resolves when there is something new, or the signal is aborted. */
  async news(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#readers.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    this.#readers.delete(resolve);
  }

  read(after: number): Omit<FeedAnswer, 'feed'> {
    const first = this.#kept[0]?.event.seq ?? this.#last + 1;
    const from = Math.max(0, after + 1 - first);
    const events = this.#kept.slice(from, from + this.#limits.answerEvents).map(({ event }) => event);
    const next = events.at(-1)?.seq ?? Math.min(after, this.#last);
    return { events, next, missed: Math.max(0, first - after - 1), ended: this.ended && next === this.#last };
  }
}

export class RunFeed {
  readonly #clock: Clock;
  readonly #limits: FeedLimits;
  readonly #id: string;
  readonly #all: Channel;
  readonly #runs = new Map<string, Channel>();
  readonly #closing = new AbortController();
  #held = 0;

  constructor(options: { readonly clock: Clock; readonly ids: Ids; readonly limits: FeedLimits }) {
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#id = options.ids.uuid();
    this.#all = new Channel(this.#limits);
  }

  begin(commandId: string): void {
    this.#runs.set(runChannel(commandId), new Channel(this.#limits));
  }

  publish(commandId: string, line: Omit<EventLine, 'kind'>): void {
    const event = { command_id: commandId, ...line };
    const chars = JSON.stringify(event).length;
    this.#runs.get(runChannel(commandId))?.publish(event, chars);
    this.#all.publish(event, chars);
  }

  /** The last event of the run has been published. */
  end(commandId: string): void {
    const channel = this.#runs.get(runChannel(commandId));
    if (channel === undefined) return;
    channel.ended = true;
    channel.wake();
    const ended = [...this.#runs].filter(([, { ended }]) => ended);
    for (const [name] of ended.slice(0, -this.#limits.endedChannels)) this.#runs.delete(name);
  }

  /** Nobody waits any more: a reader must not hold up the end of the desktop. */
  close(): void {
    this.#closing.abort();
  }

  /** Whether the run's events are here, and not only in its record. Throws for what is no UUID. */
  has(commandId: string): boolean {
    return this.#runs.has(runChannel(commandId));
  }

  /** Events of one run. */
  readRun(commandId: string, question: FeedQuestion): Promise<FeedAnswer> {
    const channel = this.#runs.get(runChannel(commandId));
    if (channel === undefined) throw new RelayError('unknown-command', `Run ${commandId} is not going on here.`);
    return this.#read(channel, question);
  }

  /** Events of all runs, as they come. */
  readAll(question: FeedQuestion): Promise<FeedAnswer> {
    return this.#read(this.#all, question);
  }

  async #read(channel: Channel, { after, waitMs, signal }: FeedQuestion): Promise<FeedAnswer> {
    // A number from the future belongs to another start of this desktop: that reader begins anew.
    const seen = Math.min(after ?? channel.last, channel.last);
    const atOnce = { feed: this.#id, ...channel.read(seen) };
    const isNews = atOnce.events.length > 0 || atOnce.missed > 0 || atOnce.ended;
    if (isNews || after === undefined || waitMs <= 0) return atOnce;
    if (this.#closing.signal.aborted) throw stopping();
    if (this.#held >= this.#limits.heldReaders) {
      throw new RelayError('too-many-held', `${this.#held} readers of events wait already. End some of them.`);
    }
    await this.#hold(channel, waitMs, AbortSignal.any([signal, this.#closing.signal]));
    const later = { feed: this.#id, ...channel.read(seen) };
    if (later.events.length === 0 && this.#closing.signal.aborted) throw stopping();
    return later;
  }

  async #hold(channel: Channel, waitMs: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const gone = () => over.abort();
    signal.addEventListener('abort', gone, { once: true });
    if (signal.aborted) gone();
    this.#held += 1;
    try {
      await Promise.race([channel.news(over.signal), pause(this.#clock, waitMs, over.signal)]);
    } finally {
      this.#held -= 1;
      over.abort();
      signal.removeEventListener('abort', gone);
    }
  }
}

function stopping(): RelayError {
  return new RelayError('shutting-down', 'The desktop stops.');
}
