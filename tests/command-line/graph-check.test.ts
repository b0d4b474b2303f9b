/** What a check finds in a Graph, each with its place; and that it finds nothing in what runs. */
import { readdir, readFile } from 'node:fs/promises';
import t, { type Test } from 'tap';
import type { GraphEngine } from '../../desktop-agent/engine/engine.ts';
import { DEFAULT_ENGINE_LIMITS } from '../../desktop-agent/engine/engine-limits.ts';
import { type CheckContext, checkGraph } from '../../desktop-agent/graph-check/check-graph.ts';
import {
  GRAPH_GLOBALS,
  LANGUAGE_GLOBALS,
  MISSING_GLOBALS,
  MISSING_MEMBERS,
} from '../../desktop-agent/graph-check/globals.ts';
import type { KnownTools } from '../../desktop-agent/graph-check/rules/tools.ts';
import { graph, runGraph, testEngine } from '../engine/support.ts';

const OTHER = { slug: 'other', file_name: 'other-file.js', graph_session_id: `gs_${'0'.repeat(32)}` };
const CONTEXT: CheckContext = {
  limits: { ...DEFAULT_ENGINE_LIMITS, totalTokens: 1_000 },
  tools: null,
  others: [OTHER],
};

/** Each finding as `line:column severity rule`, with its message behind it when that is wanted. */
function found(source: string, context = CONTEXT): string[] {
  return checkGraph({ name: 'test.js', source }, context).map(
    ({ line, column, severity, rule }) => `${line}:${column} ${severity} ${rule}`,
  );
}

/** Findings of a body whose first line is line 2, and which returns something. */
function inBody(body: string, metaRest = ''): string[] {
  return found(`export const meta = { name: 'Test'${metaRest} };\n${body}\nreturn 1;`);
}

function messageOf(body: string): string {
  return checkGraph({ name: 'test.js', source: graph(`${body}\nreturn 1;`) }, CONTEXT)[0]?.message ?? '';
}

t.test('a syntax error is found with its line and column, and alone', async (t) => {
  t.same(inBody('const a = 1;\nreturn (;'), ['3:9 error syntax']);
  const [problem] = checkGraph({ name: 'test.js', source: 'const' }, CONTEXT);
  t.equal(problem?.message, 'Unexpected token', 'without the place, which is told beside it');
});

t.test('what is wrong with the meta is found, and the body is looked at all the same', async (t) => {
  t.same(found('return 1;'), ['1:1 error meta']);
  t.same(found('export const meta = { nam: "x" };\nnope();\nreturn 1;'), ['1:21 error meta', '2:1 error unknown-name']);
});

t.test('what would reach out of the file is forbidden, wherever it stands', async (t) => {
  t.same(inBody('const a = 1;\nconst fs = await import("node:fs");'), ['3:18 error forbidden']);
  t.same(inBody('export const b = 2;'), ['2:1 error forbidden']);
});

t.test('clock, chance, network and the like are forbidden, with what to do instead', async (t) => {
  t.same(inBody('const a = new Date();\n  fetch("x");\nMath.random();\nMath["random"]();'), [
    '2:15 error forbidden',
    '3:3 error forbidden',
    '4:1 error forbidden',
    '5:1 error forbidden',
  ]);
  t.match(messageOf('setTimeout(() => {}, 1)'), /`setTimeout`: a Graph has no timers/);
  t.match(messageOf('globalThis.Date.now()'), /`Date`: a Graph has no clock: pass the time in `args`/);
  t.match(messageOf('console.log(1)'), /`log\(message\)` shows a line/);
});

t.test('names of its own may be called as they like, in whatever scope they are declared', async (t) => {
  const own = `
    function Date() { return 1; }
    const { fetch, x: [process] } = { fetch: 1, x: [2] };
    for (const console of [1]) log(console);
    try { throw 1; } catch (require) { log(require); }
    const f = ({ setTimeout = 1 } = {}, ...window) => setTimeout + window.length + later;
    class URL { static prompt() { return new.target; } }
    label: for (;;) break label;
    var later = { Date, performance: 1, Math: { random: 1 } };
    log(later.performance + later.Math.random + f() + URL.prompt() + typeof structuredClone);`;
  t.same(inBody(own), []);
});

t.test('a name that nothing declares is found, read or written', async (t) => {
  t.same(inBody('let total = 1;\ntotla += 1;'), ['3:1 error unknown-name']);
  t.match(messageOf('nope()'), /`nope` is not defined; a Graph has args, agent, /);
  t.match(messageOf('nope = 1'), /write `let nope = …` first/);
  t.same(inBody('{ let inner = 1; }\nlog(inner);'), ['3:5 error unknown-name'], 'scopes count');
});

t.test("the desktop's own names cannot be changed, and what they are given is looked at", async (t) => {
  t.same(inBody('args = {};'), ['2:1 error read-only']);
  t.same(inBody('const all = await parallel([agent("a"), () => agent("b"), await agent("c")]);'), [
    '2:29 error not-a-function',
    '2:59 error not-a-function',
  ]);
  t.same(inBody('await parallel([1, 2].map((n) => agent(n)));'), ['2:34 error not-a-function']);
  t.same(inBody('await parallel([1, 2].map((n) => () => agent(n)));'), []);
  t.same(inBody('await retry(agent("x"));'), ['2:13 error not-a-function']);
  t.same(
    inBody('const agent = (x) => x; parallel2([agent(1)]); function parallel2(x) {}'),
    [],
    'its own agent is its own',
  );
});

t.test('what nobody waits for is a warning', async (t) => {
  t.same(inBody('agent("lost");\ngraph("other", {});'), ['2:1 warning not-awaited', '3:1 warning not-awaited']);
  t.same(inBody('const later = agent("kept");\nawait later;'), []);
});

t.test('arguments that the meta does not know are found', async (t) => {
  t.same(inBody('log(args.topic);\nlog(args);'), ['2:5 warning argument'], 'told once');
  const schema = (rest = '') => `, arguments: { type: 'object', properties: { topic: {} }${rest} }`;
  t.same(inBody('log(args.topic + args.depth);', schema()), ['2:18 warning argument']);
  t.same(inBody('const { topic, depth } = args;', schema(', additionalProperties: false')), ['2:16 error argument']);
  t.same(
    inBody('log(args[topic()]); log(args); function topic() {}', schema()),
    [],
    'what is computed cannot be known',
  );
  t.same(inBody('log(args.any);', schema(", patternProperties: { '^a': {} }")), []);
});

t.test("a limit above the owner's, a slug that is taken and a Graph that is missing are found", async (t) => {
  const limits = ', limits: { total_tokens: 1001, max_concurrency: 2 }';
  for (const limit of ['max_concurrency', 'wall_ms', 'agents', 'tool_calls', 'graph_calls'])
    t.same(inBody('', `, limits: { ${limit}: 99999999 }`).length, 1, limit);
  t.same(inBody('', limits), ['1:61 warning limit']);
  t.same(inBody('', ', limits: { total_tokens: 1000 }'), []);
  t.same(inBody('', ", slug: 'other'"), ['1:43 warning slug']);
  t.same(
    inBody(
      "await graph('nothing');\nawait graph('other');\nawait graph(`other-file.js`);\nawait graph('no' + 'thing');",
    ),
    ['2:13 error graph'],
  );
});

t.test('tools that the meta does not name, and tools that it cannot have, are found', async (t) => {
  const of = (name: string, denied = false) => ({ name, denied });
  const files = [of('files.read'), of('files.write'), of('files.delete', true)];
  const tools: KnownTools = new Map([
    ['files', files],
    ['web', null],
  ]);
  const check = (body: string, names: string, known: KnownTools = tools) =>
    found(`export const meta = { name: 'Test', tools: [${names}] };\n${body}\nreturn 1;`, { ...CONTEXT, tools: known });
  t.same(check("await tool('files.read', {});", "'files.read', 'files.*'"), []);
  t.same(check("await tool('files.write', {});", "'files.read'"), ['2:12 error tool']);
  t.same(check('', "'files.read', 'files.move'"), ['1:59 error tool'], 'at its name in the meta');
  t.same(check('', "'files.*', 'mail.*'"), ['1:56 error tool'], 'a server that there is not');
  t.same(check('', "'files.delete'"), ['1:45 warning tool'], 'the owner denies it');
  t.same(check("await tool('web.get', {});", "'web.*'"), [], 'a server that does not say what it has');
  t.same(check('', "'anything.goes'", null), [], 'it is not known what there is');
  t.same(inBody("await tool('files.read');"), ['2:12 error tool'], 'without `tools`, none');
  t.same(
    check('const name = args.which; await tool(name);', "'files.read'").length,
    1,
    'a computed name is not looked up',
  );
});

t.test('a Graph without a result is a warning; a function that returns is no result', async (t) => {
  t.same(found(graph('const f = () => { return 1; }; log(f());')), ['1:1 warning no-result']);
  t.same(found(graph('if (budget.total) return 1;')), []);
});

t.test('a file that is too long or too deep is told as such', async (t) => {
  const long = found(graph('return 1;'), { ...CONTEXT, limits: { ...DEFAULT_ENGINE_LIMITS, sourceChars: 10 } });
  t.same(long, ['1:1 error file']);
  const deep = inBody(`const a = ${'1+'.repeat(30_000)}1;`);
  t.ok(deep.length <= 1, 'it ends');
  for (const each of deep) t.match(each, /file|syntax/);
});

t.test('nothing is found in the samples and the template', async (t) => {
  for (const folder of ['samples', 'templates']) {
    const path = new URL(`../../desktop-agent/${folder}/`, import.meta.url);
    for (const file of await readdir(path)) {
      const source = await readFile(new URL(file, path), 'utf8');
      const limits = DEFAULT_ENGINE_LIMITS;
      const others = [OTHER, { ...OTHER, slug: 'fan-out', file_name: 'fan-out.js' }].filter(
        (each) => each.file_name !== file,
      );
      t.same(checkGraph({ name: file, source }, { limits, tools: null, others }), [], file);
    }
  }
});

/** What `typeof` says of each name in a real sandbox, or that using it throws. */
async function inSandbox(t: Test, engine: GraphEngine, names: Iterable<string>): Promise<Record<string, string>> {
  const each = [...names].map((name) => `'${name}': typeof ${name}`);
  const { resultJson, error } = await runGraph(engine, graph(`return { ${each.join(', ')} };`));
  t.equal(error, null);
  return JSON.parse(resultJson ?? '{}');
}

t.test('the names that a check knows are those that the sandbox has', async (t) => {
  const source = graph('return Object.getOwnPropertyNames(globalThis);');
  const engine = testEngine(t);
  const { resultJson } = await runGraph(engine, source);
  const has = JSON.parse(resultJson ?? '[]') as string[];
  t.same(
    has.filter((name) => !(GRAPH_GLOBALS.has(name) || LANGUAGE_GLOBALS.has(name) || MISSING_GLOBALS.has(name))),
    [],
    'no false alarm',
  );
  t.same(
    [...LANGUAGE_GLOBALS].filter((name) => !has.includes(name)),
    [],
    'nothing is known that is not there',
  );
  const missing = await inSandbox(t, engine, MISSING_GLOBALS.keys());
  for (const [name, type] of Object.entries(missing)) {
    if (type === 'undefined') continue;
    const use = await runGraph(engine, graph(`return ${type === 'object' ? `${name}.now()` : `${name}()`};`));
    t.equal(use.status, 'failed', `${name} is there to say no`);
  }
});

t.test('what is missing is said in the same words by a check and by the sandbox', async (t) => {
  const engine = testEngine(t);
  const uses = {
    Date: 'new Date()',
    performance: 'performance.now()',
    setTimeout: 'setTimeout(() => 1)',
    setInterval: 'setInterval(() => 1)',
    setImmediate: 'setImmediate(() => 1)',
    fetch: "fetch('x')",
    eval: "eval('1')",
    Function: "Function('1')",
    WeakRef: 'new WeakRef({})',
    FinalizationRegistry: 'new FinalizationRegistry(() => 1)',
  };
  for (const [name, use] of Object.entries(uses)) {
    const said = await runGraph(engine, graph(`try { ${use}; } catch (error) { return error.message; }`));
    t.equal(JSON.parse(said.resultJson ?? 'null'), MISSING_GLOBALS.get(name), name);
  }
  const chance = await runGraph(engine, graph('try { Math.random(); } catch (error) { return error.message; }'));
  t.equal(JSON.parse(chance.resultJson ?? 'null'), MISSING_MEMBERS.get('Math.random'));
});
