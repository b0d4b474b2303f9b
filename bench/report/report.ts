/** `bench report`: from results to figures, and from figures to a page and its numbers. */
import { systemClock } from '../../protocol/host/system-ports.ts';
import { provenance } from '../provenance.ts';
import { type BenchResult, FORMAT, FORMAT_VERSION, type ReportResult } from '../result-format.ts';
import type { Figure } from './figure.ts';
import { askingFigures } from './figures/asking.ts';
import { fanoutFigures } from './figures/fanout.ts';
import { faultFigures, simFigures } from './figures/faults.ts';
import { pickupFigures } from './figures/pickup.ts';
import { priceFigures } from './figures/price.ts';
import { pageOf } from './html.ts';

/** A result, and what is drawn of it: all that it has the numbers for, where nothing is said. */
export interface Source {
  readonly result: BenchResult;
  readonly draws?: readonly FigureKind[];
}

export type FigureKind = 'pickup' | 'fanout' | 'asking' | 'price' | 'faults' | 'sim';

interface Kind {
  readonly name: FigureKind;
  readonly of: (results: readonly BenchResult[]) => Figure[];
  readonly what: string;
  readonly command: string;
}

/** In the order of the page; what is missing is named with the command that measures it. */
const KINDS: readonly Kind[] = [
  { name: 'pickup', of: pickupFigures, what: 'how long runs wait', command: 'compare --workloads pickup' },
  { name: 'fanout', of: fanoutFigures, what: 'several runs at once', command: 'compare --workloads fanout-5' },
  { name: 'asking', of: askingFigures, what: 'ways of asking', command: 'compare --workloads client-polling' },
  { name: 'price', of: priceFigures, what: 'what a mode costs', command: 'compare' },
  { name: 'faults', of: faultFigures, what: 'what trouble does', command: 'compare --faults loss,proxy-cut-15s,sleep' },
  { name: 'sim', of: simFigures, what: 'what the simulation has thrown', command: 'sim' },
];

export interface Report {
  readonly html: string;
  readonly result: ReportResult;
}

export async function makeReport(
  sources: readonly Source[],
  given: { command: string; seed: number; began: { at: number; monotonic: number } },
): Promise<Report> {
  const { command, seed, began } = given;
  const results = sources.map(({ result }) => result);
  const found = KINDS.map((kind) => {
    const drawn = sources.filter(({ draws }) => draws?.includes(kind.name) ?? true);
    return { kind, figures: kind.of(drawn.map(({ result }) => result)) };
  });
  const figures = found.flatMap((each) => each.figures);
  const absent = found
    .filter((each) => each.figures.length === 0)
    .map(({ kind }) => `Not in the files that were given: ${kind.what} (npm run bench -- ${kind.command} --out FILE).`);
  return {
    html: pageOf({ figures, sources: results, absent, command }),
    result: {
      format: FORMAT,
      format_version: FORMAT_VERSION,
      kind: 'report',
      command,
      seed,
      made: await provenance(),
      sources: results.map((source) => ({ kind: source.kind, command: source.command, seed: source.seed })),
      figures: figures.map(({ id, title, source, table }) => ({
        id,
        title,
        command: source.command,
        seed: source.seed,
        head: [...table.head],
        rows: table.rows.map((row) => [...row]),
      })),
      absent,
      wall_clock: {
        started_at: new Date(began.at).toISOString(),
        duration_ms: Math.round(systemClock.monotonic() - began.monotonic),
      },
    },
  };
}
