/**
 * What a figure of the report is: plots, the numbers of them as a table, and the command that made both.
 *
 * Owns the shape, and which series a mode is in all figures.
 */
import type { BenchResult } from '../result-format.ts';

export interface Panel {
  readonly title: string;
  readonly svg: string;
}

export interface Table {
  readonly head: readonly string[];
  /** The first cell of a row names it. */
  readonly rows: readonly (readonly string[])[];
}

export interface Figure {
  readonly id: string;
  readonly title: string;
  /** What is seen, in sentences. */
  readonly text: readonly string[];
  readonly panels: readonly Panel[];
  /** Items of a list, as HTML. */
  readonly legend: readonly string[];
  readonly table: Table;
  readonly source: Pick<BenchResult, 'command' | 'seed'>;
}

const OWN_SERIES = ['plain-20s', 'long-poll', 'websocket', 'plain-5s', 'auto'];
/** As many ways to draw a series as the style sheet has. */
export const SERIES = 7;

/** The same mode looks the same everywhere. Modes of one's own follow, in the order of the result. */
export function seriesOf(mode: string, modes: readonly string[]): number {
  const own = OWN_SERIES.indexOf(mode);
  if (own >= 0) return own;
  const others = modes.filter((name) => !OWN_SERIES.includes(name));
  const spare = SERIES - OWN_SERIES.length;
  return OWN_SERIES.length + (Math.max(0, others.indexOf(mode)) % spare);
}
