import t from 'tap';
import { GraphSourceError, parseGraph } from '../../desktop-agent/engine/graph-source.ts';
import { Programs } from '../../desktop-agent/engine/program.ts';

function errorOf(source: string): GraphSourceError {
  try {
    parseGraph(source, 'g.js');
  } catch (error) {
    if (error instanceof GraphSourceError) return error;
    throw error;
  }
  throw new Error('the source was accepted');
}

t.test('a meta of every kind of literal is read', async (t) => {
  const { meta } = parseGraph(
    "export const meta = { name: `Mail`, 'description': 'x', slug: 'a-1', limits: { total_tokens: 5 }, extra: [-1, null, true] };\nreturn 1",
    'g.js',
  );
  t.same(meta, { name: 'Mail', description: 'x', slug: 'a-1', limits: { total_tokens: 5 } });
});

t.test('meta names tools and limits', async (t) => {
  const limits = { total_tokens: 1, max_concurrency: 2, wall_ms: 3, agents: 4, tool_calls: 5, graph_calls: 6 };
  const tools = ['files.read', 'web.*', 'my-server.do_it', 'a.b/c.d'];
  const source = `export const meta = { name: 'x', tools: ${JSON.stringify(tools)}, limits: ${JSON.stringify(limits)} };`;
  t.same(parseGraph(source, 'g.js').meta, { name: 'x', tools, limits });
});

t.test('what is wrong in meta is told at its own place', async (t) => {
  const meta = (lines: string): string => `export const meta = {\n  name: 'x',\n${lines}\n};`;
  const cases: [lines: string, place: { line: number; column: number }, message: RegExp][] = [
    ["  slug: 'A B',", { line: 3, column: 9 }, /meta\.slug: must be 1-64/],
    ["  tools: [\n    'a.b',\n    'nodot',\n  ],", { line: 5, column: 5 }, /meta\.tools\.1: must be `server\.tool`/],
    ["  tools: 'a.b',", { line: 3, column: 10 }, /meta\.tools/],
    ['  limits: {\n    wall_ms: -5,\n  },', { line: 4, column: 14 }, /meta\.limits\.wall_ms/],
    ['  limits: { agent: 5 },', { line: 3, column: 11 }, /meta\.limits: .*agent/],
    ['  arguments: {\n    type: "list" },', { line: 3, column: 14 }, /meta\.arguments: must have `type: "object"`/],
  ];
  for (const [lines, place, message] of cases) t.match(errorOf(meta(lines)), { ...place, message }, lines);
});

t.test('the body keeps each line and column of the file, and can read meta', async (t) => {
  const source = "#!/usr/bin/env graph\n// hello\nexport const meta = {\n  name: 'x',\n};\nreturn meta.name";
  const { body } = parseGraph(source, 'g.js');
  t.equal(body.length, source.length);
  t.equal(body.replace('//', '#!').replace('       const', 'export const'), source);
});

t.test('a syntax error names file, line and column', async (t) => {
  const error = errorOf("export const meta = { name: 'x' };\n\nlet a = ;\n");
  t.match(error, { line: 3, column: 9 });
  t.match(error.message, /^g\.js:3:9: Unexpected token$/);
});

t.test('anything computed in meta is refused at its place and not executed', async (t) => {
  const sources: [string, RegExp][] = [
    ['{ name: (globalThis.hit = 1, "x") }', /must be a literal/],
    ['{ name: process.env.HOME }', /must be a literal/],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of a Graph
    ['{ name: `a${1}` }', /template/],
    ['{ ...{ name: "x" } }', /spread/],
    ['{ ["name"]: "x" }', /plain `key: value`/],
    ['{ get name() { globalThis.hit = 1; return "x" } }', /plain `key: value`/],
    ['{ name() {} }', /plain `key: value`/],
    ['{ name: "x", list: [1,,2] }', /holes/],
    ['{ name: "x", re: /a/ }', /must be a literal/],
    ['{ name: "x", big: 1n }', /must be a literal/],
    ['{ name: "x", not: !1 }', /must be a literal/],
    ['{ name: "x", neg: -"1" }', /must be a literal/],
    ['Object.freeze({ name: "x" })', /object literal/],
  ];
  for (const [meta, message] of sources) t.match(errorOf(`export const meta = ${meta};`).message, message, meta);
  t.notOk('hit' in globalThis);
  t.match(errorOf('export const meta = {\n  name: "x",\n  at: here,\n}'), { line: 3, column: 7 });
});

t.test('a key __proto__ in meta is refused, and no prototype changes', async (t) => {
  for (const key of ['__proto__', '"__proto__"']) {
    t.match(errorOf(`export const meta = { name: 'x', limits: { ${key}: { polluted: 1 } } };`).message, /__proto__/);
  }
  t.equal(({} as Record<string, unknown>).polluted, undefined);
  t.match(parseGraph("export const meta = { name: 'x', constructor: 1, toString: 2 };", 'g.js').meta, { name: 'x' });
});

t.test('meta that breaks a rule is refused with its path', async (t) => {
  const cases: [string, RegExp][] = [
    ['{}', /meta\.name/],
    ['{ name: "   " }', /meta\.name/],
    [`{ name: "${'x'.repeat(201)}" }`, /meta\.name/],
    [`{ name: "x", description: "${'x'.repeat(2001)}" }`, /meta\.description/],
    ['{ name: "x", slug: "-a" }', /meta\.slug/],
    ['{ name: "x", slug: "Not A Slug" }', /meta\.slug/],
    ['{ name: "x", limits: { total_tokens: 0 } }', /meta\.limits\.total_tokens/],
    ['{ name: "x", limits: { max_concurrency: 1.5 } }', /meta\.limits\.max_concurrency/],
    ['{ name: "x", limits: { total_token: 5 } }', /meta\.limits: .*total_token/],
    ['{ name: "x", limits: { tool_calls: "many" } }', /meta\.limits\.tool_calls/],
    ['{ name: "x", tools: ["*"] }', /meta\.tools\.0/],
    ['{ name: "x", tools: ["a.*b"] }', /meta\.tools\.0/],
    ['{ name: "x", tools: [5] }', /meta\.tools\.0/],
    [`{ name: "x", tools: [${'"a.b",'.repeat(101)}] }`, /meta\.tools/],
  ];
  for (const [meta, message] of cases) t.match(errorOf(`export const meta = ${meta};`).message, message);
});

t.test('a file that a run reads again and again is parsed once, broken or not', async (t) => {
  const programs = new Programs(1_000);
  const good = { name: 'g.js', source: "export const meta = { name: 'x' }; return 1" };
  const [one, two] = [programs.read(good, { a: 1 }), programs.read({ ...good, slug: 'mine' }, { a: 2 })];
  t.equal(one.graph, two.graph, 'the same parsed file');
  t.match(
    [one, two],
    [
      { slug: 'g', args: { a: 1 } },
      { slug: 'mine', args: { a: 2 } },
    ],
  );
  const problem = (name: string): unknown => {
    try {
      return programs.read({ name, source: 'let = 5 5' }, {});
    } catch (error) {
      return error;
    }
  };
  t.equal(problem('bad.js'), problem('bad.js'), 'the same error');
  t.match(problem('worse.js'), { message: /^worse\.js:1:/ });
  t.throws(() => programs.read({ name: 'long.js', source: 'x'.repeat(1_001) }, {}), /longer than 1000 characters/);
});

t.test('meta must be the first statement, a const, and alone', async (t) => {
  const wrong = [
    '',
    'return 1',
    "const meta = { name: 'x' };",
    "let a = 1; export const meta = { name: 'x' };",
    "export let meta = { name: 'x' };",
    "export const meta = { name: 'x' }, other = 1;",
    "export const { meta } = { name: 'x' };",
    "export default { name: 'x' };",
    'export function meta() {}',
  ];
  for (const source of wrong) t.match(errorOf(source).message, /a Graph starts with `export const meta/, source);
});

t.test('imports and other exports are refused at their place with what to do instead', async (t) => {
  const start = "export const meta = { name: 'x' };\n";
  t.match(errorOf(`${start}import fs from 'node:fs';`), {
    line: 2,
    column: 1,
    message: /cannot import: pass what it needs/,
  });
  t.match(errorOf(`${start}const f = () => [import('node:fs')];`), { line: 2, column: 18, message: /cannot import/ });
  t.match(errorOf(`${start}return import.meta.url;`), { line: 2, column: 8, message: /import\.meta/ });
  t.match(errorOf(`${start}export default 1;`), { line: 2, message: /give its result with `return`/ });
  t.match(errorOf(`${start}export const a = 1;`), { line: 2, message: /give its result with `return`/ });
  t.match(errorOf(`${start}export * from 'a';`), { line: 2, message: /give its result with `return`/ });
  t.ok(parseGraph(`${start}const o = { import: 1 }; log('please import this'); return o.import;`, 'g.js'));
});

t.test('files that are built to break the parser give an error with a place', async (t) => {
  const start = "export const meta = { name: 'x' };\n";
  for (const deep of [
    '('.repeat(100_000),
    '['.repeat(50_000) + ']'.repeat(50_000),
    'a?'.repeat(50_000),
    '`${'.repeat(20_000),
  ]) {
    t.match(errorOf(start + deep), { line: /[12]/ });
  }
  t.match(errorOf(`export const meta = { name: ${'['.repeat(50_000)}`).message, /^g\.js:1:/);
});
