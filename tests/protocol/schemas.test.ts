/** What the schemas of the three calls take and refuse. */
import t from 'tap';
import type { z } from 'zod';
import {
  commandIdSchema,
  executionIdSchema,
  graphSessionId,
  graphSessionIdSchema,
  instanceIdSchema,
  projectIdSchema,
  runChannel,
} from '../../protocol/ids.ts';
import {
  completeInputSchema,
  controlAnswerSchema,
  controlInputSchema,
  offeredCommandSchema,
  syncAnswerSchema,
  syncInputSchema,
} from '../../protocol/schemas.ts';
import { COMMAND, EXECUTION } from './lives.ts';

const SESSION = `gs_${'0123456789abcdef'.repeat(2)}`;
const HOSTILE = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', ' '];

function session(changes: object = {}) {
  return { graph_session_id: SESSION, name: 'N', description: '', slug: 's', version: 1, status: 'ready', ...changes };
}

function sync(changes: object = {}) {
  return { instance_id: EXECUTION, projects: [], holding: [], capacity: 1, hold_ms: 0, ...changes };
}

function shared(changes: object = {}) {
  return sync({ projects: [{ project_id: 'home', sessions: [session(changes)] }] });
}

function completion(changes: object = {}) {
  return { command_id: COMMAND, execution_id: EXECUTION, status: 'completed', ...changes };
}

function takes(schema: z.ZodType, value: unknown): boolean {
  return schema.safeParse(value).success;
}

t.test('a UUID is taken in any case and becomes lower case (C124, C125)', async (t) => {
  for (const schema of [commandIdSchema, executionIdSchema, instanceIdSchema]) {
    t.equal(schema.parse(COMMAND.toUpperCase()), COMMAND);
    t.equal(schema.parse(COMMAND), COMMAND);
  }
  t.equal(graphSessionIdSchema.parse(SESSION.toUpperCase()), SESSION);
  const parsed = completeInputSchema.parse(completion({ command_id: COMMAND.toUpperCase() }));
  t.equal(parsed.command_id, COMMAND);
  const holding = syncInputSchema.parse(sync({ holding: [COMMAND.toUpperCase()] })).holding;
  t.same(holding, [COMMAND]);
});

t.test('any other form of an id is refused, never repaired (C124)', async (t) => {
  const forms = (id: string) => [
    `{${id}}`,
    ` ${id}`,
    `${id} `,
    `${id}\n`,
    `urn:uuid:${id}`,
    id.slice(0, -1),
    id.slice(0, 8),
    `${id}0`,
    id.replaceAll('-', ''),
    `${id.slice(0, -1)}g`,
    `${id.slice(0, -1)}\u0661`,
  ];
  for (const form of [...forms(COMMAND), ...HOSTILE]) t.notOk(takes(commandIdSchema, form), JSON.stringify(form));
  for (const form of [
    `{${SESSION}}`,
    ` ${SESSION}`,
    `${SESSION}\n`,
    SESSION.slice(3),
    SESSION.slice(0, 20),
    ...HOSTILE,
  ]) {
    t.notOk(takes(graphSessionIdSchema, form), JSON.stringify(form));
  }
  for (const form of [null, 1, {}, [COMMAND], undefined]) t.notOk(takes(commandIdSchema, form), String(form));
});

t.test('a project id is compared exactly, and names of the language are either refused or plain (C121)', async (t) => {
  t.equal(projectIdSchema.parse('Home.1_a-b'), 'Home.1_a-b', 'case is kept');
  for (const form of [
    '__proto__',
    '',
    ' ',
    'a b',
    '-a',
    '.a',
    'a/b',
    'a:b',
    'a\0',
    `a${'b'.repeat(64)}`,
    'ä',
    'home\n',
  ]) {
    t.notOk(takes(projectIdSchema, form), JSON.stringify(form));
  }
  for (const form of ['constructor', 'toString', 'hasOwnProperty', 'a', `a${'b'.repeat(63)}`]) {
    t.ok(takes(projectIdSchema, form), form);
  }
});

t.test('a channel of events exists for UUIDs only', async (t) => {
  t.equal(runChannel(COMMAND.toUpperCase()), `graph:external:${COMMAND}`);
  for (const form of [...HOSTILE, `${COMMAND}*`, '*', `{${COMMAND}}`]) t.throws(() => runChannel(form), form);
  t.throws(() => graphSessionId('abc'), 'a session id needs 16 bytes');
});

t.test('texts with a lone surrogate or a NUL do not pass the border (C116)', async (t) => {
  const bad = ['a\0b', 'a\ud800', '\udc00a', '\udc00\ud800'];
  for (const text of bad) {
    for (const field of ['name', 'description', 'slug']) {
      t.notOk(takes(syncInputSchema, shared({ [field]: text })), `${field} ${JSON.stringify(text)}`);
    }
    const repaired = completeInputSchema.parse(completion({ status: 'failed', error: text })).error ?? '';
    t.ok(repaired.isWellFormed() && !repaired.includes('\0'), 'an error is repaired: recording it cannot fail');
  }
  t.ok(takes(syncInputSchema, shared({ name: '\u{1f469}\u200d\u{1f469}\u200d\u{1f467} 日本', description: 'a\nb' })));
});

const SYNC_BOUNDS: [string, object, object][] = [
  ['name', shared({ name: 'n'.repeat(200) }), shared({ name: 'n'.repeat(201) })],
  ['empty name', shared({ name: 'n' }), shared({ name: '' })],
  ['description', shared({ description: 'd'.repeat(2_000) }), shared({ description: 'd'.repeat(2_001) })],
  ['slug', shared({ slug: 's'.repeat(100) }), shared({ slug: 's'.repeat(101) })],
  ['empty slug', shared({ slug: 's' }), shared({ slug: '' })],
  ['version', shared({ version: 1 }), shared({ version: 0 })],
  ['whole version', shared({ version: 2 }), shared({ version: 1.5 })],
  ['status', shared({ status: 'broken' }), shared({ status: 'offline' })],
  ['capacity', sync({ capacity: 64 }), sync({ capacity: 65 })],
  ['capacity below', sync({ capacity: 0 }), sync({ capacity: -1 })],
  ['hold', sync({ hold_ms: 3_600_000 }), sync({ hold_ms: 3_600_001 })],
  ['hold below', sync({ hold_ms: 0 }), sync({ hold_ms: -1 })],
  ['whole hold', sync({ hold_ms: 1 }), sync({ hold_ms: 0.5 })],
  ['holding', sync({ holding: Array(200).fill(COMMAND) }), sync({ holding: Array(201).fill(COMMAND) })],
  ['projects', sync({ projects: projects(50) }), sync({ projects: projects(51) })],
  ['sessions', sync({ projects: [sessions(100)] }), sync({ projects: [sessions(101)] })],
];

function projects(count: number) {
  return Array.from({ length: count }, (_, index) => ({ project_id: `p${index}`, sessions: [] }));
}

function sessions(count: number) {
  return { project_id: 'home', sessions: Array(count).fill(session()) };
}

for (const [what, fits, exceeds] of SYNC_BOUNDS) {
  t.test(`a sync is bounded: ${what}`, async (t) => {
    t.ok(takes(syncInputSchema, fits));
    t.notOk(takes(syncInputSchema, exceeds));
  });
}

t.test('what an older version does not know of is left aside, so that a newer one may say more', async (t) => {
  const control = { command_id: COMMAND, execution_id: EXECUTION, phase: 'running', hold_ms: 0 };
  t.strictSame(controlInputSchema.parse({ ...control, told_by_a_newer_one: { a: 1 } }), control);
  t.strictSame(controlAnswerSchema.parse({ cancel: false, reason: null, more: 1 }), { cancel: false, reason: null });
});

t.test('no field of a call may be left out, but those that are optional', async (t) => {
  const whole: [z.ZodType, Record<string, unknown>][] = [
    [syncInputSchema, sync()],
    [controlInputSchema, { command_id: COMMAND, execution_id: EXECUTION, phase: 'starting', hold_ms: 0 }],
    [completeInputSchema, completion()],
    [controlAnswerSchema, { cancel: false, reason: null }],
    [syncAnswerSchema, { epoch: 1, commands: [], refused_projects: [], hold_granted_ms: 0, next_sync_ms: 0 }],
  ];
  for (const [schema, value] of whole) {
    t.ok(takes(schema, value));
    for (const field of Object.keys(value)) {
      const { [field]: _left, ...rest } = value;
      t.notOk(takes(schema, rest), field);
    }
  }
});

t.test('a completion is bounded in each of its fields (C39)', async (t) => {
  const taken = [
    { result: null },
    { result: { deep: [1] } },
    { result_truncated: true },
    { error: 'e'.repeat(2_000), status: 'failed' },
    { total_tokens: 0, reported_cost: null },
    { total_tokens: 5, reported_cost: 0.25 },
    { capacity: 64 },
  ];
  for (const changes of taken) t.ok(takes(completeInputSchema, completion(changes)), JSON.stringify(changes));
  const refused = [
    { status: 'lost' },
    { status: 'running' },
    { status: 'agent-crashed' },
    { status: undefined },
    { result: 1, result_truncated: true },
    { result: null, result_truncated: true },
    { total_tokens: -1 },
    { total_tokens: 0.5 },
    { reported_cost: -0.01 },
    { reported_cost: Number.NaN },
    { capacity: 65 },
    { execution_id: 'constructor' },
  ];
  t.equal(completeInputSchema.parse(completion({ error: 'e'.repeat(5_000) })).error?.length, 2_000, 'cut');
  for (const changes of refused) t.notOk(takes(completeInputSchema, completion(changes)), JSON.stringify(changes));
});

t.test('arguments and results keep every key as it was sent, whatever it is called (C121)', async (t) => {
  const text = '{"__proto__":{"polluted":1},"constructor":2,"toString":3,"hasOwnProperty":4,"":5," ":6}';
  const command = {
    command_id: COMMAND,
    project_id: 'home',
    graph_session_id: SESSION,
    slug: 's',
    queued_at_ms: 1,
    arguments: JSON.parse(text),
  };
  t.equal(JSON.stringify(offeredCommandSchema.parse(command).arguments), text);
  t.equal(JSON.stringify(completeInputSchema.parse(completion({ result: JSON.parse(text) })).result), text);
  t.equal(({} as { polluted?: number }).polluted, undefined, 'no prototype was changed');
});

t.test('an answer that is no answer of ours is told from one that is', async (t) => {
  const good = { epoch: 1, commands: [], refused_projects: [], hold_granted_ms: 0, next_sync_ms: 0 };
  for (const changes of [{ epoch: 0 }, { commands: null }, { next_sync_ms: -1 }, { hold_granted_ms: '0' }]) {
    t.notOk(takes(syncAnswerSchema, { ...good, ...changes }), JSON.stringify(changes));
  }
  t.notOk(takes(controlAnswerSchema, { cancel: 'no', reason: null }));
  t.notOk(takes(controlAnswerSchema, { cancel: true, reason: 'because' }));
});
