/**
 * What the owner may ask about the runs of a desktop, whether it runs or not: which there are, what one did, what happens
 * now, and the end of one.
 *
 * Owns the answers' bounds: they go over the local socket, and making one must not hold up the runs. Whole texts and
 * results are read from the files by who wants them.
 */
import { RelayError } from '../../protocol/errors.ts';
import { commandIdSchema } from '../../protocol/ids.ts';
import { boundedEvent, type Cuts, cutText } from './bounded-event.ts';
import { commandIdOf, type RecordFiles, type RecordName } from './record-files.ts';
import type { EventLine } from './record-lines.ts';
import { findRecord, liveSummary, type RunSummary, readRecord, summaryOf } from './record-reader.ts';
import type { FeedAnswer, FeedEvent } from './run-feed.ts';
import type { RunHistory } from './run-history.ts';

/** What the caller is told, as the run's error. */
export const CANCELLED_BY_OWNER = 'The owner cancelled the run on the desktop.';

/** Runs in one list. More hold up the desktop while it looks for them. */
export const LISTED_RUNS = { usual: 20, max: 1_000 } as const;

/** Length of one text in the answer to `show`: what a timeline shows of it. */
const SHOWN_CHARS = 400;

export interface ShownRun {
  readonly run: RunSummary;
  /** The arguments as JSON, maybe cut. */
  readonly args: string;
  /** Hash of the Graph's source; null when the record has none. */
  readonly source_sha256: string | null;
  readonly events: readonly Omit<EventLine, 'kind'>[];
}

export interface EventsQuestion {
  readonly command_id?: string | undefined;
  readonly after?: number | undefined;
  readonly wait_ms: number;
}

export interface CancelAnswer {
  readonly command_id: string;
  readonly cancelled: true;
}

export interface RunDesk {
  /** The latest ones, the latest first. */
  list(limit: number): Promise<RunSummary[]>;
  /** By id, the beginning of it, or `last`. */
  show(run: string): Promise<ShownRun>;
  /** Of one run by its whole id, or of all runs. */
  events(question: EventsQuestion, signal: AbortSignal): Promise<FeedAnswer>;
  cancel(run: string): Promise<CancelAnswer>;
}

export class RecordsDesk implements RunDesk {
  readonly #files: RecordFiles;
  readonly #history: RunHistory | null;

  /** `history` is null when the desktop does not run. */
  constructor(options: { readonly files: RecordFiles; readonly history: RunHistory | null }) {
    this.#files = options.files;
    this.#history = options.history;
  }

  async list(limit: number): Promise<RunSummary[]> {
    const found: RunSummary[] = [];
    for (const name of (await this.#names()).slice(-limit).reverse()) {
      const each = await this.#summary(name);
      if (each !== null) found.push(each);
    }
    return found;
  }

  async show(reference: string): Promise<ShownRun> {
    await this.#history?.written();
    const name = findRecord(await this.#names(), reference);
    const events: Omit<EventLine, 'kind'>[] = [];
    const record = await readRecord(this.#files, name, (line) => events.push(shortened(line)));
    const run = await this.#summary(name);
    if (run === null) throw new RelayError('unknown-command', `Run ${commandIdOf(name)} is not there any more.`);
    const args = cutText(JSON.stringify(record.graph?.args ?? {}), SHOWN_CHARS);
    return { run, args, source_sha256: record.graph?.sha256 ?? null, events };
  }

  async events(question: EventsQuestion, signal: AbortSignal): Promise<FeedAnswer> {
    const history = this.#running();
    const { command_id, after, wait_ms: waitMs } = question;
    if (command_id === undefined) return history.feed.readAll({ after, waitMs, signal });
    const id = commandIdSchema.parse(command_id);
    if (history.feed.has(id)) return history.feed.readRun(id, { after, waitMs, signal });
    return this.#recordedEvents(id, { after: after ?? 0, limit: history.limits.answerEvents });
  }

  async cancel(reference: string): Promise<CancelAnswer> {
    const history = this.#running();
    const name = findRecord(await this.#names(), reference);
    const commandId = commandIdOf(name);
    if (history.cancel(commandId, CANCELLED_BY_OWNER)) return { command_id: commandId, cancelled: true };
    const run = await this.#summary(name);
    const why =
      run === null || run.ended_at !== null || run.error !== null
        ? `has ended (${run?.status ?? 'long ago'}): there is nothing to cancel.`
        : 'goes on in another process (`graph-relay desktop run`): end it there, with Ctrl-C.';
    throw new RelayError('execution-refused', `Run ${commandId} ${why}`);
  }

  /** Those that go on too: their first lines may not be on the disk yet, or the disk is full. */
  async #names(): Promise<RecordName[]> {
    const live = (this.#history?.live() ?? []).map(({ name }) => name);
    return [...new Set([...(await this.#files.names()), ...live])].sort();
  }

  async #summary(name: RecordName): Promise<RunSummary | null> {
    const recording = this.#history?.live().find((each) => each.name === name);
    return recording === undefined ? summaryOf(this.#files, name) : liveSummary(recording);
  }

  /** Of a run that is over: what its record has. */
  async #recordedEvents(commandId: string, { after, limit }: { after: number; limit: number }): Promise<FeedAnswer> {
    const found: FeedEvent[] = [];
    let more = false;
    await readRecord(this.#files, findRecord(await this.#names(), commandId), (line) => {
      if (line.n <= after) return;
      if (found.length < limit) found.push({ seq: line.n, command_id: commandId, ...shortened(line) });
      else more = true;
    });
    const first = found[0]?.seq ?? after + 1;
    const next = found.at(-1)?.seq ?? after;
    return { feed: 'record', events: found, next, missed: first - after - 1, ended: !more };
  }

  #running(): RunHistory {
    if (this.#history !== null) return this.#history;
    throw new RelayError('unreachable', 'The desktop does not run, so nothing goes on there.');
  }
}

function shortened({ n, at_ms, after_ms, event, cut }: EventLine): Omit<EventLine, 'kind'> {
  const short = boundedEvent(event, SHOWN_CHARS);
  // What was cut before stays cut, with the length of the whole.
  const cuts: Cuts = { ...short.cut, ...cut };
  return { n, at_ms, after_ms, event: short.event, ...(Object.keys(cuts).length > 0 && { cut: cuts }) };
}
