/** What the commands about Graphs as files do. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ExitError } from '../../../protocol/host/exit-codes.ts';
import { columns, note, painted, print } from '../../../protocol/host/terminal.ts';
import { slugOf } from '../../engine/graph-meta.ts';
import { parseGraph } from '../../engine/graph-source.ts';
import type { ShownSession } from '../../local-api.ts';
import { firstText, renamedGraph, sampleNames } from '../../new-graph.ts';
import { argumentsInShort } from '../arguments-text.ts';
import { flagsOf, type OwnerOptions, withAdmin } from './admin.ts';
import { graphFolderOf, shownPath } from './graph-files.ts';

export async function listGraphs(options: OwnerOptions): Promise<void> {
  const sessions = await withAdmin(options, (admin) => admin.sessions());
  if (options.json) return print(JSON.stringify(sessions));
  if (sessions.length === 0)
    note(`There are no Graphs yet. \`graph-relay desktop new NAME${flagsOf(options)}\` writes one.`);
  for (const line of columns(sessions.map(sessionCells))) print(line);
}

function sessionCells({ slug, version, projects, problem, arguments_schema }: ShownSession): string[] {
  const shared = projects.length > 0 ? painted('green', `shared with ${projects.join(', ')}`) : 'not shared';
  const about = problem === null ? argumentsInShort(arguments_schema) : painted('red', `BROKEN: ${problem}`);
  return [painted('bold', slug), `v${version}`, shared, about];
}

export interface NewOptions extends OwnerOptions {
  readonly from?: string;
}

export async function newGraph(wanted: string, options: NewOptions): Promise<void> {
  const { name, slug } = namesOf(wanted);
  const text = renamedGraph(await textFrom(options.from), { name, slug });
  const { folder, sessions } = await graphFolderOf(options);
  const same = sessions.find((session) => session.slug === slug);
  if (same !== undefined) throw taken(`"${slug}" is the Graph in ${same.file_name}`);
  const file = join(folder, `${slug}.js`);
  try {
    await writeFile(file, text, { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw taken(`${file} is there already`);
    throw error;
  }
  if (options.json) return print(JSON.stringify({ file, slug, name }));
  print(shownPath(file));
  note(nextSteps(slug, requiredArguments(text), flagsOf(options)));
}

function taken(what: string): ExitError {
  return new ExitError('failure', `${what}. Nothing was written: choose another name, or edit that one.`);
}

/** A text with blanks or capitals is a name; `weekly-report` is a slug, whose name is `Weekly report`. */
function namesOf(wanted: string): { name: string; slug: string } {
  const stem = wanted.trim().replace(/\.js$/, '');
  if (!/[a-z0-9]/i.test(stem) || /[/\\]/.test(stem)) {
    throw new ExitError(
      'usage',
      `"${wanted}" cannot be the name of a Graph: it needs a letter or digit, and no slash.`,
    );
  }
  const slug = slugOf(stem);
  const words = stem === slug ? slug.replaceAll('-', ' ') : stem;
  return { slug, name: words.charAt(0).toUpperCase() + words.slice(1) };
}

async function textFrom(sample: string | undefined): Promise<string> {
  const known = await sampleNames();
  if (sample !== undefined && !known.includes(sample)) {
    throw new ExitError('usage', `There is no sample "${sample}". There are: ${known.join(', ')}.`);
  }
  return firstText(sample);
}

/** What has to be given, as `run` takes it. */
function requiredArguments(text: string): string {
  const required = parseGraph(text, 'new.js').meta.arguments?.required;
  return (Array.isArray(required) ? required : []).map((name) => ` ${name}=TEXT`).join('');
}

function nextSteps(slug: string, args: string, flags: string): string {
  return `
Next:
  graph-relay desktop check ${slug}${flags}
  graph-relay desktop run ${slug}${args}${flags}
  graph-relay desktop share ${slug} --project ID${flags}`;
}
