/** Proof that the rules of the tidy test bite: small sources with one violation each, and others that only look like one. */
import t from 'tap';
import {
  type Arrows,
  checkArrows,
  checkBanned,
  checkFunctions,
  checkHeader,
  checkLength,
  checkText,
  type Finding,
  forbiddenArrow,
  importsOf,
  treeOf,
} from './tidy-rules.ts';

function names(findings: readonly Finding[]): string[] {
  return findings.map(({ name }) => name);
}

t.test('the rule on sizes bites', async (t) => {
  t.equal(checkLength('x;\n'.repeat(300)).length, 0);
  t.equal(checkLength('x;\n'.repeat(301)).length, 1);
  const body = (lines: number) => `{\n${'  x;\n'.repeat(lines - 2)}}`;
  for (const head of ['function f()', 'const f = () =>', 'const f = async function ()', 'class A { f()']) {
    const tail = head.startsWith('class') ? ' }' : '';
    t.same(names(checkFunctions(treeOf(`${head} ${body(60)}${tail}`))), [], head);
    t.same(names(checkFunctions(treeOf(`${head} ${body(61)}${tail}`))), ['f'], head);
  }
});

t.test('the rule on parameters bites, for constructors and whatever types stand there', async (t) => {
  const found = (source: string) => names(checkFunctions(treeOf(source)));
  t.same(found('function f(a: number, b?: string, c: A.B<C, D> = {}) {}'), []);
  t.same(found('function f(this: X, a: number, b: string, c: boolean) {}'), [], '`this` is no parameter');
  t.same(found('function f(a: number, b: string, c: boolean, ...d: unknown[]) {}'), ['f']);
  t.same(found('class A { constructor(a: 1, b: 2, c: 3, d: 4) {} }'), ['constructor']);
  t.same(found('const f = ({ a, b, c, d }: { a: 1; b: 2; c: 3; d: 4 }) => a;'), [], 'one object is one parameter');
  t.same(found('type F = (a: 1, b: 2, c: 3, d: 4) => void;'), [], 'a type is no code');
});

t.test('the rule on headers bites', async (t) => {
  t.equal(checkHeader('/** What it owns. */\nx;').length, 0);
  t.equal(checkHeader('#!/usr/bin/env node\n/** What it owns. */').length, 0);
  for (const source of ['x;', 'import a from "b";\n/** too late */', '// a line', '/** */', '']) {
    t.equal(checkHeader(source).length, 1, JSON.stringify(source));
  }
});

const BANNED: Readonly<Record<string, string>> = {
  'const a = Date.now();': 'Date.now',
  'const a = globalThis.Date.now();': 'Date.now',
  "const a = Date['now']();": 'Date.now',
  'const a: Date = new Date();': 'new Date()',
  'const a = Date();': 'new Date()',
  'const { now } = x; const a = Math.random() as number;': 'Math.random',
  'const a = performance.now();': 'performance.now',
  'const a = process.hrtime.bigint();': 'process.hrtime',
  'setTimeout(() => {}, 1);': 'setTimeout',
  'globalThis.setInterval(f, 1);': 'setInterval',
  'await new Promise((resolve) => setImmediate(resolve));': 'setImmediate',
  'const later = { setTimeout };': 'setTimeout',
  "import { randomUUID } from 'node:crypto';": 'randomUUID',
  'const a = crypto.randomUUID();': 'randomUUID',
  'const a = crypto.randomBytes(8);': 'randomBytes',
  'crypto.getRandomValues(a);': 'getRandomValues',
  "import { setTimeout as later } from 'node:timers/promises';": 'node:timers/promises',
  "console.log('x');": 'console',
  "globalThis.console.error('x');": 'console',
};

for (const [source, name] of Object.entries(BANNED)) {
  t.test(`the ban on clock, chance and console bites: ${source}`, async (t) => {
    t.ok(names(checkBanned(treeOf(source))).includes(name));
  });
}

t.test('what only looks like clock or chance is let through', async (t) => {
  const allowed = [
    '// setTimeout(f, 1) and Date.now()',
    "const a = 'Math.random() and console.log';",
    'const a = new Date(0).toISOString();',
    'const a = clock.now() + clock.monotonic();',
    'interface T { setTimeout(f: () => void): typeof Date.now }',
    'const a = { setTimeout: clock.after };',
    'const a = new Console().error;',
  ];
  for (const source of allowed) t.same(checkBanned(treeOf(source)), [], source);
});

t.test('arrows between the parts go one way only', async (t) => {
  const open: Arrows = { usesHost: new Set(['server/main.ts']), openToBench: new Set(['server/relay.ts']) };
  const forbidden: [string, string][] = [
    ['protocol/api.ts', 'server/relay.ts'],
    ['protocol/api.ts', 'protocol/host/process.ts'],
    ['protocol/host/process.ts', 'bench/sim/world.ts'],
    ['server/relay.ts', 'desktop-agent/agent.ts'],
    ['desktop-agent/agent.ts', 'server/relay.ts'],
    ['server/relay.ts', 'bench/sim/world.ts'],
    ['server/relay.ts', 'protocol/host/process.ts'],
    ['bench/sim/world.ts', 'server/holds.ts'],
    ['bench/sim/world.ts', 'tests/support/tidy-rules.ts'],
    ['graph-relay.ts', 'tests/support/tidy-rules.ts'],
    ['server/cli.ts', 'graph-relay.ts'],
  ];
  for (const [from, to] of forbidden) t.ok(forbiddenArrow(from, to, open), `${from} → ${to}`);
  const allowed: [string, string][] = [
    ['protocol/host/process.ts', 'protocol/ports.ts'],
    ['server/main.ts', 'protocol/host/process.ts'],
    ['server/relay.ts', 'protocol/api.ts'],
    ['bench/sim/world.ts', 'server/relay.ts'],
    ['tests/x.test.ts', 'server/holds.ts'],
    ['graph-relay.ts', 'server/cli.ts'],
  ];
  for (const [from, to] of allowed) t.equal(forbiddenArrow(from, to, open), null, `${from} → ${to}`);
});

t.test('an arrow is seen however it is written', async (t) => {
  const ways = [
    "import { a } from '../server/x.ts';",
    "import type { A } from '../server/x.ts';",
    "import type A from '../server/x.ts';",
    "import { type A } from '../server/x.ts';",
    "import '../server/x.ts';",
    "export * from '../server/x.ts';",
    "export type { A } from '../server/x.ts';",
    "export type * from '../server/x.ts';",
    "const a = await import('../server/x.ts');",
    "type A = typeof import('../server/x.ts');",
  ];
  for (const source of ways) t.same(importsOf('bench/y.ts', source), [{ path: 'server/x.ts', line: 1 }], source);
  t.same(importsOf('bench/y.ts', "// import '../server/x.ts'\nimport 'node:fs';\nconst a = \"from '../x.ts'\";"), []);
  t.equal(checkArrows('desktop-agent/y.ts', ways[1]!, { usesHost: new Set(), openToBench: new Set() }).length, 1);
});

t.test('the rule on host names and paths bites, and knows what is none', async (t) => {
  const slash = '/';
  const bad = [
    `https:${slash}/registry.example.org/x`,
    `${slash}home/somebody/x`,
    `cd ${slash}root/x`,
    ['C:', 'Users', 'x'].join('\\'),
  ];
  for (const text of bad) t.equal(checkText(`a\n${text}`).length, 1, text);
  const good = [
    'https://relay.example/home',
    'src/home/x',
    `..${slash}root/x`,
    'a/working/b',
    `the root of / and ${slash}tmp/x`,
  ];
  for (const text of good) t.same(checkText(text), [], text);
});
