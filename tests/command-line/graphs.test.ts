/** Graphs as files: the list, and a first one that runs. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { argumentsInShort } from '../../desktop-agent/command-line/arguments-text.ts';
import { parseGraph } from '../../desktop-agent/engine/graph-source.ts';
import type { ShownSession } from '../../desktop-agent/local-api.ts';
import { firstText, renamedGraph, sampleNames } from '../../desktop-agent/new-graph.ts';
import { runGraph, testEngine } from '../engine/support.ts';
import { graphSource, startDesktop, startWorld, writeGraph } from '../process/relay-world.ts';
import { expectProcesses, type Finished, run, tempFolder } from '../process/support.ts';

expectProcesses(t);

function desktop(t: Test, data: string, ...args: string[]): Promise<Finished> {
  return run(t, ['desktop', ...args, '--data', data]);
}

t.test('the list of Graphs says version, shares, arguments, and where a broken one is broken', async (t) => {
  const data = await tempFolder(t);
  t.match(await desktop(t, data, 'graphs'), { code: 0, stdout: '', stderr: /no Graphs yet.*desktop new NAME --data/ });
  const meta = `{ name: 'Ask', slug: 'ask', arguments: { type: 'object', properties: { topic: { type: 'string' },
    depth: { type: 'number' } }, required: ['topic'] } }`;
  await writeGraph(data, 'ask.js', `export const meta = ${meta};\nreturn 1;\n`);
  await writeGraph(data, 'bad.js', `${graphSource('bad', '')}return (;\n`);
  await desktop(t, data, 'share', 'ask', '--project', 'home');
  const { stdout, stderr } = await desktop(t, data, 'graphs');
  t.same(stdout.split('\n'), [
    'ask  v1  shared with home  topic: string, depth?: number',
    'bad  v1  not shared        BROKEN: bad.js:3:9: Unexpected token',
    '',
  ]);
  t.equal(stderr, '');
  const json = await desktop(t, data, 'sessions', '--json');
  const [ask] = JSON.parse(json.stdout) as ShownSession[];
  t.match(ask, { slug: 'ask', graph_session_id: /^gs_/, projects: ['home'] }, 'sessions is another name for graphs');
});

t.test('arguments are told in short, whatever the schema looks like', async (t) => {
  t.equal(argumentsInShort(undefined), '');
  t.equal(argumentsInShort({ type: 'object' }), '');
  const properties = {
    mode: { enum: ['fast', 'slow'] },
    list: { type: 'array', items: { type: 'integer' } },
    any: { type: 'array' },
    both: { type: ['string', 'null'] },
    open: true,
  };
  t.equal(
    argumentsInShort({ properties, required: ['mode'] }),
    'mode: "fast"|"slow", list?: integer[], any?: any[], both?: …',
  );
  t.equal(argumentsInShort({ properties: { both: properties.both, open: true } }), 'both?: string|null, open?');
});

t.test('new writes a Graph, says what comes next, and never overwrites', async (t) => {
  const data = await tempFolder(t);
  const made = await desktop(t, data, 'new', 'Weekly report');
  const file = join(data, 'graphs', 'weekly-report.js');
  t.match(made, { code: 0, stdout: `${file}\n` });
  for (const next of ['check weekly-report', 'run weekly-report topic=TEXT', 'share weekly-report --project ID'])
    t.match(made.stderr, `graph-relay desktop ${next} --data ${data}`);
  const text = await readFile(file, 'utf8');
  t.match(parseGraph(text, 'x').meta, { name: 'Weekly report', slug: 'weekly-report' });

  const again = await desktop(t, data, 'new', 'weekly-report', '--from', 'hello');
  t.match(again, { code: 1, stdout: '', stderr: /is the Graph in weekly-report\.js\. Nothing was written/ });
  t.equal(await readFile(file, 'utf8'), text);
  await writeGraph(data, 'taken.js', graphSource('other', 'return 1;'));
  t.match(await desktop(t, data, 'new', 'taken'), { code: 1, stderr: /taken\.js is there already/ });

  const json = await desktop(t, data, 'new', 'from-sample', '--from', 'fan-out', '--json');
  t.same(JSON.parse(json.stdout), {
    file: join(data, 'graphs', 'from-sample.js'),
    slug: 'from-sample',
    name: 'From sample',
  });
  t.match(await desktop(t, data, 'new', 'x', '--from', 'nothing'), {
    code: 2,
    stderr: /no sample "nothing".*briefing, fan-out, folder-report, hello, triage/,
  });
  t.match(await desktop(t, data, 'new', '../x'), { code: 2, stderr: /cannot be the name of a Graph/ });
  t.same((await readdir(join(data, 'graphs'))).sort(), ['from-sample.js', 'taken.js', 'weekly-report.js']);
});

t.test('new writes into the folder of the desktop that runs', async (t) => {
  const world = await startWorld(t);
  const { data, url, desktopToken } = world;
  const graphs = join(await tempFolder(t), 'mine');
  await startDesktop(t, { data, url, token: desktopToken, args: ['--graphs', graphs] });
  t.match(await desktop(t, data, 'new', 'here'), { code: 0, stdout: `${join(graphs, 'here.js')}\n` });
});

t.test('the template and each sample run under another name', async (t) => {
  const engine = testEngine(t);
  for (const sample of [undefined, ...(await sampleNames())]) {
    const source = renamedGraph(await firstText(sample), { name: `It's "so"`, slug: 'mine' });
    t.match(parseGraph(source, 'x').meta, { name: `It's "so"`, slug: 'mine' }, sample ?? 'the template');
    if (sample !== undefined) continue;
    const { status, resultJson, error } = await runGraph(engine, source, { args: { topic: 'tea' } });
    t.equal(status, 'completed', error ?? '');
    t.match(JSON.parse(resultJson ?? ''), { topic: 'tea', verdict: String });
  }
});
