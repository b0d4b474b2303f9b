/**
 * A first text for a Graph: a template or a sample under a name of its own.
 *
 * Owns what is changed in the text. It writes no file.
 */
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type AnyNode, graphTree, keyOf, metaLiteral } from './graph-check/tree.ts';

const TEMPLATE = new URL('./templates/first.js', import.meta.url);
const SAMPLES = new URL('./samples/', import.meta.url);

/** Names that `--from` takes. */
export async function sampleNames(): Promise<string[]> {
  const files = await readdir(fileURLToPath(SAMPLES));
  return files
    .filter((file) => file.endsWith('.js'))
    .map((file) => file.slice(0, -'.js'.length))
    .sort();
}

/** The text of the sample, or of the template without one. */
export function firstText(sample: string | undefined): Promise<string> {
  return readFile(sample === undefined ? TEMPLATE : new URL(`${sample}.js`, SAMPLES), 'utf8');
}

/** The same Graph with another name and slug in its meta; a slug that is left out is that of the file. */
export function renamedGraph(source: string, names: { readonly name: string; readonly slug: string }): string {
  let text = source;
  // From the back, so that what is in front keeps its place.
  for (const property of (metaOf(source).properties as AnyNode[]).toReversed()) {
    const key = keyOf(property);
    if (key !== 'name' && key !== 'slug') continue;
    const { start, end } = property.value as AnyNode;
    text = `${text.slice(0, start)}${quoted(names[key])}${text.slice(end)}`;
  }
  return text;
}

function metaOf(source: string): AnyNode {
  const literal = metaLiteral(graphTree(source));
  if (literal === null) throw new TypeError('A template starts with its meta.');
  return literal;
}

function quoted(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
