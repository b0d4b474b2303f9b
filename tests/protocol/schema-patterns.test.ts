/** The relay's check takes no regular expression: names that look like keywords stay, and nothing that fits is refused. */
import t from 'tap';
import { argumentProblems } from '../../protocol/arguments-schema.ts';
import { withoutPatterns } from '../../protocol/schema-patterns.ts';

const EVIL = '^(a+)+$';

t.test('patterns go wherever a schema may stand, and members of that name stay', async (t) => {
  const schema = {
    type: 'object',
    properties: {
      pattern: { type: 'string', pattern: EVIL },
      patternProperties: { type: 'object', properties: { pattern: { type: 'integer' } } },
      list: {
        type: 'array',
        items: { anyOf: [{ type: 'string', pattern: EVIL, maxLength: 3 }, { $ref: '#/$defs/x' }] },
      },
    },
    propertyNames: { pattern: EVIL },
    $defs: { x: { type: 'integer', pattern: EVIL } },
    enum: [{ pattern: 'kept' }],
  };
  t.same(withoutPatterns(schema), {
    type: 'object',
    properties: {
      pattern: { type: 'string' },
      patternProperties: { type: 'object', properties: { pattern: { type: 'integer' } } },
      list: { type: 'array', items: { anyOf: [{ type: 'string', maxLength: 3 }, { $ref: '#/$defs/x' }] } },
    },
    propertyNames: {},
    $defs: { x: { type: 'integer' } },
    enum: [{ pattern: 'kept' }],
  });
});

t.test('what fits the whole schema fits without patterns, also beside members that only a pattern names', async (t) => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string', pattern: '^x' } },
    patternProperties: { '^n_': { type: 'integer' } },
    additionalProperties: false,
  };
  for (const args of [{ a: 'xy' }, { n_1: 5 }, { a: 'x', n_2: 6 }]) {
    t.same(argumentProblems(schema, args), []);
    t.same(argumentProblems(withoutPatterns(schema), args), []);
  }
  t.match(argumentProblems(withoutPatterns(schema), { a: 5 }), [/^arguments\.a: /], 'all else is checked');
});
