/**
 * SVG as text: elements, escaping, numbers.
 *
 * Hand-written, and no library: what is drawn are lines, bars and dots on two kinds of scale. Libraries that draw without a
 * browser bring a DOM (Plot) or a runtime with thirty packages (Vega), write colours where a style sheet has to decide by
 * the reader's scheme, and ids that differ from run to run. Owns no colour and no data.
 */

export type Attributes = Readonly<Record<string, string | number>>;

export function element(name: string, attributes: Attributes, ...inside: readonly string[]): string {
  const written = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${typeof value === 'number' ? short(value) : escaped(value)}"`,
  );
  const start = `<${name}${written.join('')}`;
  return inside.length === 0 ? `${start}/>` : `${start}>${inside.join('')}</${name}>`;
}

export function text(attributes: Attributes, words: string): string {
  return element('text', attributes, escaped(words));
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function escaped(words: string): string {
  return words.replace(/[&<>"]/g, (sign) => ENTITIES[sign]!);
}

/** Tenths of a unit are finer than any screen shows them. */
export function short(value: number): string {
  return String(Math.round(value * 10) / 10 + 0);
}

export type Point = readonly [x: number, y: number];

/** A line through points. */
export function path(points: readonly Point[]): string {
  return points.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${short(x)} ${short(y)}`).join('');
}

/** A line that keeps its height until the next point. */
export function steps(points: readonly Point[]): string {
  return points
    .map(([x, y], index) => (index === 0 ? `M${short(x)} ${short(y)}` : `H${short(x)}V${short(y)}`))
    .join('');
}

/** As a sentence begins. */
export function capital(words: string): string {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
