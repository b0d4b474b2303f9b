/**
 * The frame of a plot: its size, its axes with names and units, and its grid.
 *
 * Every plot is as wide as a phone and is scaled from there, so that its text can be read on one. Owns the geometry;
 * what is drawn inside is a figure's business.
 */
import type { Extent, Scale } from './scale.ts';
import { element, escaped, path, text } from './svg.ts';

export const WIDTH = 360;
const RIGHT = 14;
const TICK = 4;
const LINE = 14;
/** Under the plot: tick labels, and the name of the axis. */
const BELOW = 38;

export interface FrameGiven {
  /** For those who do not see it: what it shows, and where its numbers are. */
  readonly label: string;
  /** Of the inside. */
  readonly height: number;
  /** For the labels of the vertical axis. */
  readonly left: number;
  /** For the name of the vertical axis. */
  readonly top?: number;
}

export interface Axis {
  readonly scale: Scale;
  readonly name: string;
  readonly tick: (value: number) => string;
}

/** The inside, from the left to the right. */
export function across({ left }: Pick<FrameGiven, 'left'>): Extent {
  return { from: left, to: WIDTH - RIGHT };
}

/** The inside, from the bottom to the top. */
export function upwards({ height, top = 8 }: Pick<FrameGiven, 'height' | 'top'>): Extent {
  return { from: top + height, to: top };
}

/** A plot, with its marks on top of the grid. */
export function plot(given: FrameGiven, axes: { x: Axis; y?: Axis }, marks: readonly string[]): string {
  const { from: bottom } = upwards(given);
  const attributes = { viewBox: `0 0 ${WIDTH} ${bottom + BELOW}`, role: 'img', 'aria-label': given.label };
  const y = axes.y === undefined ? [] : verticalAxis(given, axes.y);
  return element('svg', attributes, ...horizontalAxis(given, axes.x), ...y, ...marks);
}

function horizontalAxis(given: FrameGiven, { scale, name, tick }: Axis): string[] {
  const { from: left, to: right } = across(given);
  const { from: bottom, to: top } = upwards(given);
  const ticks = scale.ticks.flatMap((value) => {
    const x = scale.at(value);
    return [
      line({ x1: x, y1: top, x2: x, y2: bottom + TICK }, 'grid'),
      tickLabel({ x, y: bottom + TICK + LINE - 3 }, tick(value)),
    ];
  });
  const title = text({ x: (left + right) / 2, y: bottom + BELOW - 6, class: 'axis', 'text-anchor': 'middle' }, name);
  return [...ticks, line({ x1: left, y1: bottom, x2: right, y2: bottom }, 'rule'), title];
}

/** A letter of a tick label, at most. */
const LETTER = 6.2;

/** In the middle under its tick, or as far to the left as it has to be. */
function tickLabel({ x, y }: { x: number; y: number }, words: string): string {
  const isCut = x + (words.length * LETTER) / 2 > WIDTH;
  const at = isCut ? { x: WIDTH - 1, 'text-anchor': 'end' } : { x, 'text-anchor': 'middle' };
  return text({ ...at, y, class: 'tick' }, words);
}

function verticalAxis(given: FrameGiven, { scale, name, tick }: Axis): string[] {
  const { from: left, to: right } = across(given);
  const { to: top } = upwards(given);
  const ticks = scale.ticks.flatMap((value) => {
    const y = scale.at(value);
    return [
      line({ x1: left - TICK, y1: y, x2: right, y2: y }, 'grid'),
      text({ x: left - TICK - 3, y: y + 4, class: 'tick', 'text-anchor': 'end' }, tick(value)),
    ];
  });
  return [...ticks, text({ x: 2, y: top - 10, class: 'axis' }, name)];
}

export function line(ends: { x1: number; y1: number; x2: number; y2: number }, kind: string): string {
  return element('line', { ...ends, class: kind });
}

/** Distinguishes by the way it is dashed as well as by colour. `series` counts from 0. */
export function curve(d: string, series: number): string {
  return element('path', { d, class: `curve s${series}` });
}

/** For a legend: how a series is drawn. */
export function swatch(series: number, name: string): string {
  const attributes = { viewBox: '0 0 36 10', class: 'swatch', 'aria-hidden': 'true' };
  return `<li>${element(
    'svg',
    attributes,
    curve(
      path([
        [1, 5],
        [35, 5],
      ]),
      series,
    ),
  )}${escaped(name)}</li>`;
}

/** Milliseconds at a tick. */
export function tickMs(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`;
}
