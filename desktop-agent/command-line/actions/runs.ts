/** What the commands about runs do: on the running desktop, or on the records in its data folder. */
import { ExitError } from '../../../protocol/host/exit-codes.ts';
import { localCallError } from '../../../protocol/host/local-calls.ts';
import { dataDirectory } from '../../../protocol/host/process.ts';
import { columns, note, painted, print } from '../../../protocol/host/terminal.ts';
import { HOLD_MAX_MS } from '../../../protocol/limits.ts';
import { recordFiles } from '../../runs/open-runs.ts';
import { parseLine } from '../../runs/record-lines.ts';
import { findRecord, readRecord, resultOf } from '../../runs/record-reader.ts';
import { remoteDesk } from '../../runs/remote-desk.ts';
import { RecordsDesk, type RunDesk } from '../../runs/run-desk.ts';
import type { FeedAnswer, FeedEvent } from '../../runs/run-feed.ts';
import { endLines, headLines, runCells, shortId, Timeline } from '../run-text.ts';
import { flagsOf, type OwnerOptions } from './admin.ts';
import { onScreen } from './on-screen.ts';

export async function listRuns(options: OwnerOptions & { readonly limit: number }): Promise<void> {
  const runs = await withRuns(options, (desk) => desk.list(options.limit));
  if (options.json) return print(JSON.stringify(runs));
  if (runs.length === 0) note('Nothing has run here yet.');
  for (const line of columns(runs.map(runCells))) print(line);
}

export interface ShowOptions extends OwnerOptions {
  readonly result?: boolean;
  readonly events?: boolean;
  readonly prompts?: boolean;
  readonly follow?: boolean;
}

export async function showRun(reference: string, options: ShowOptions): Promise<void> {
  if (options.result) return printResult(reference, options);
  if (options.events) return printEvents(reference, options);
  if (options.follow) return followEvents(reference, { ...options, head: true });
  const shown = await withRuns(options, (desk) => desk.show(reference));
  if (options.json) return print(JSON.stringify(shown));
  for (const line of headLines(shown)) print(line);
  print('');
  const timeline = new Timeline(options);
  // What was asked and said is whole in the file only.
  if (options.prompts) {
    const { files, name } = await recordNamed(shown.run.command_id, options);
    await readRecord(files, name, (line) => timeline.lines(line).forEach(print));
  } else for (const event of shown.events) timeline.lines(event).forEach(print);
  print('');
  for (const line of endLines(shown.run, flagsOf(options))) print(line);
}

async function printResult(reference: string, options: ShowOptions): Promise<void> {
  const { files, name } = await recordNamed(reference, options);
  const record = await readRecord(files, name, () => {});
  const result = await resultOf(files, record);
  if (result !== null) return print(onScreen(result));
  const { end } = record;
  const why =
    end === null
      ? 'it goes on, or its desktop died during it'
      : end.result_kept
        ? `it ${end.status}${end.error === null ? '' : `: ${end.error}`}`
        : 'it could not be written, since the disk was full';
  throw new ExitError('failure', `Run ${shortId(record.head.command_id)} has no result here: ${why}.`);
}

/** Whole, as they are in the record. */
async function printEvents(reference: string, options: ShowOptions): Promise<void> {
  const { files, name } = await recordNamed(reference, options);
  for await (const text of files.lines(name)) {
    const line = parseLine(text);
    if (line?.kind !== 'event') continue;
    const { kind: _kind, ...event } = line;
    print(JSON.stringify(event));
  }
}

export async function cancelRun(reference: string, options: OwnerOptions): Promise<void> {
  const answer = await withRuns(options, (desk) => desk.cancel(reference));
  if (options.json) return print(JSON.stringify(answer));
  note(`Run ${shortId(answer.command_id)} is cancelled. Its caller sees that.`);
}

/** Of one run from its start to its end, of all runs from now on. */
export async function followEvents(
  reference: string | undefined,
  options: OwnerOptions & { readonly head?: boolean; readonly prompts?: boolean },
): Promise<void> {
  const desk = remoteDesk(folderOf(options));
  // Nobody reads any more.
  process.stdout.once('error', () => process.exit());
  const shown = reference === undefined ? null : await answered(desk.show(reference));
  if (shown !== null && options.head && !options.json) for (const line of [...headLines(shown), '']) print(line);
  const question = shown === null ? {} : { command_id: shown.run.command_id };
  const print1 = options.json
    ? (event: FeedEvent) => print(JSON.stringify(event))
    : eventPrinter(options, shown === null);
  let after: number | undefined = shown === null ? undefined : 0;
  for (let ended = false; !ended; ) {
    const answer: FeedAnswer = await answered(
      desk.events({ ...question, ...(after !== undefined && { after }), wait_ms: HOLD_MAX_MS }, NEVER),
    );
    if (answer.missed > 0) note(`${answer.missed} events came too quickly to be shown here; the record has them.`);
    answer.events.forEach(print1);
    after = answer.next;
    ended = answer.ended;
  }
  if (shown === null || options.json) return;
  const { run } = await answered(desk.show(shown.run.command_id));
  for (const line of ['', ...endLines(run, flagsOf(options))]) print(line);
}

const NEVER = new AbortController().signal;

/** Each run has its own timeline; with several, each line says whose it is. */
function eventPrinter(options: { readonly prompts?: boolean }, areSeveral: boolean): (event: FeedEvent) => void {
  const timelines = new Map<string, Timeline>();
  return (event) => {
    const { command_id } = event;
    const timeline = timelines.get(command_id) ?? new Timeline(options);
    timelines.set(command_id, timeline);
    const whose = areSeveral ? `${painted('bold', shortId(command_id))} ` : '';
    for (const line of timeline.lines(event)) print(`${whose}${line}`);
    if (event.event.type === 'finished') {
      timelines.delete(command_id);
      if (areSeveral) print(`${whose}${event.event.status}`);
    }
  };
}

/** The answer of a desktop that has to run for it. */
async function answered<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const known = localCallError(error);
    if (known !== null) throw known;
    throw new ExitError(
      'failure',
      'The desktop does not run, so nothing happens there. `graph-relay desktop show` shows what did.',
    );
  }
}

/** Asks the running desktop; reads the records when none is running. */
async function withRuns<T>(options: OwnerOptions, use: (desk: RunDesk) => Promise<T>): Promise<T> {
  try {
    return await use(remoteDesk(folderOf(options)));
  } catch (error) {
    const known = localCallError(error);
    if (known !== null) throw known;
  }
  return use(new RecordsDesk({ files: recordFiles(folderOf(options)), history: null }));
}

function folderOf({ data }: OwnerOptions): string {
  return dataDirectory(data, 'desktop');
}

/** The record as it is on the disk: long texts need not go through the desktop. */
export async function recordNamed(reference: string, options: OwnerOptions) {
  const files = recordFiles(folderOf(options));
  return { files, name: findRecord(await files.names(), reference) };
}
