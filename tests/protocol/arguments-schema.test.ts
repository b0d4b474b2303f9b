/** A Graph's schema of its arguments: which ones are taken, and what is said of arguments that do not fit. */
import t from 'tap';
import { type ArgumentsSchema, argumentProblems, schemaProblem } from '../../protocol/arguments-schema.ts';
import { ARGUMENTS_SCHEMA_CHARS } from '../../protocol/limits.ts';

const MAIL: ArgumentsSchema = {
  type: 'object',
  properties: {
    to: { type: 'array', items: { type: 'string', pattern: '@' }, minItems: 1 },
    'a/b~c': { type: 'integer' },
    mode: { enum: ['draft', 'send'] },
  },
  required: ['to'],
  additionalProperties: false,
};

t.test('arguments that fit have no problem', async (t) => {
  for (const args of [{ to: ['a@b'] }, { to: ['a@b', 'c@d'], mode: 'send', 'a/b~c': 3 }]) {
    t.same(argumentProblems(MAIL, args), []);
  }
});

const UNFIT: readonly (readonly [object, RegExp])[] = [
  [{}, /^arguments: .*required property "to"/],
  [{ to: [] }, /^arguments\.to: Array has too few items/],
  [{ to: ['a@b', 7] }, /^arguments\.to\.1: Instance type "number" is invalid/],
  [{ to: ['nobody'] }, /^arguments\.to\.0: String does not match pattern/],
  [{ to: ['a@b'], mode: 'burn' }, /^arguments\.mode: Instance does not match any of \["draft","send"\]/],
  [{ to: ['a@b'], 'a/b~c': 1.5 }, /^arguments\.a\/b~c: Instance type "number" is invalid/],
];

for (const [args, expected] of UNFIT) {
  t.test(`${JSON.stringify(args)} is refused with its place`, async (t) => {
    const problems = argumentProblems(MAIL, args);
    t.match(problems[0], expected);
    t.ok(problems.length <= 3);
  });
}

t.test('what is called like a member of every object is a name like any other (C121)', async (t) => {
  const schema: ArgumentsSchema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["toString"]}',
  );
  t.match(argumentProblems(schema, {})[0], /required property "toString"/);
  t.equal(({} as { polluted?: unknown }).polluted, undefined);
});

const REFUSED: readonly (readonly [string, unknown, RegExp])[] = [
  ['a list', [], /an object/],
  ['text', 'x', /an object/],
  ['null', null, /an object/],
  ['no type', {}, /type: "object"/],
  ['another type', { type: 'string' }, /type: "object"/],
  ['too long', { type: 'object', description: 'x'.repeat(ARGUMENTS_SCHEMA_CHARS) }, /may have 2000/],
  ['a broken pattern', { type: 'object', properties: { a: { pattern: '(' } } }, /no regular expression: "\("/],
  ['a broken name pattern', { type: 'object', patternProperties: { '[': {} } }, /no regular expression/],
  ['another document', { type: 'object', properties: { a: { $ref: 'https://example.com/s' } } }, /another document/],
  ['a place that is not there', { type: 'object', $ref: '#/$defs/nobody' }, /cannot be used/],
  [
    'a place deep inside that is not there',
    { type: 'object', properties: { a: { $ref: '#/b' } } },
    /"#\/b", which is not/,
  ],
  ['a circle', { type: 'object', properties: { a: { $ref: '#' } } }, /refers to itself/],
  [
    'a circle of two',
    { type: 'object', $defs: { a: { $ref: '#/$defs/b' }, b: { not: { $ref: '#/$defs/a' } } } },
    /itself/,
  ],
  ['a reference that a run decides', { type: 'object', items: { $recursiveRef: '#' } }, /`\$recursiveRef`/],
  ["the library's own mark", { type: 'object', not: { __absolute_ref__: 'x' } }, /`__absolute_ref__`/],
  ['a name inside', { type: 'object', not: { $id: 'a' } }, /`\$id` inside/],
  ['a keyword that cannot have this value', { type: 'object', required: 5 }, /cannot be used/],
  ['NUL', { type: 'object', description: 'a\0' }, /NUL/],
  ['a lone surrogate', { type: 'object', description: '\ud83d' }, /surrogate/],
];

for (const [name, schema, expected] of REFUSED) {
  t.test(`no schema: ${name}`, async (t) => t.match(schemaProblem(schema), expected));
}

/** Each step refers to the next one twice: 2^steps visits. */
function doubling(steps: number): object {
  const $defs: Record<string, unknown> = { [`a${steps}`]: {} };
  for (let step = 0; step < steps; step += 1) {
    $defs[`a${step}`] = { allOf: [{ $ref: `#/$defs/a${step + 1}` }, { $ref: `#/$defs/a${step + 1}` }] };
  }
  return { type: 'object', $ref: '#/$defs/a0', $defs };
}

t.test('a small schema that would take for ever is refused at once (C110)', async (t) => {
  t.equal(schemaProblem(doubling(5)), null);
  // With 30 steps the check would take days: that this test ends is the proof.
  t.match(schemaProblem(doubling(30)), /more than 5000 parts/);
  const named = (depth: number): object => (depth === 0 ? {} : { $id: `a${depth}`, not: named(depth - 1) });
  t.match(schemaProblem({ type: 'object', not: named(60) }), /`\$id` inside/);
});

t.test('what a check meets and cannot use is a problem, not an error', async (t) => {
  const broken = { type: 'object', properties: { a: { enum: 5 } } };
  t.match(argumentProblems(broken, { a: [] }), [/^arguments: cannot be checked, the schema is broken: /]);
  t.same(argumentProblems(broken, {}), []);
});

t.test('what a schema may have: own definitions, emoji, a backslash before a u', async (t) => {
  t.equal(schemaProblem(MAIL), null);
  t.equal(
    schemaProblem({ type: 'object', $defs: { a: { type: 'string' } }, properties: { a: { $ref: '#/$defs/a' } } }),
    null,
  );
  t.equal(
    schemaProblem({ $id: 'x', type: 'object', properties: { id: { type: 'string', default: { id: 'a' } } } }),
    null,
  );
  t.equal(schemaProblem({ type: 'object', $defs: { a: { $anchor: 'b' } }, properties: { c: { $ref: '#b' } } }), null);
  t.equal(schemaProblem({ type: 'object', description: '🚀 \\u0000' }), null);
});
