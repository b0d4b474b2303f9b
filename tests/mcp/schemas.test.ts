/** The schemas that the tools publish: plain enough for every client, and true of every answer. */

import { type Schema, Validator } from '@cfworker/json-schema';
import type { Client } from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import { TOOLS } from '../../server/mcp/tools.ts';
import {
  createTestRelay,
  HOUR,
  PROJECT,
  SECOND,
  session,
  startRun,
  syncInput,
  type TestRelay,
} from '../contract/support.ts';
import { ERAS, type Era } from './fixtures.ts';
import { beginRun, completeRun, connectClient, startedRun, syncDesktop, useVirtualTimers } from './virtual-client.ts';

/** What the converters of clients, down to the OpenAPI of some, are known to take. */
const PLAIN_WORDS: ReadonlySet<string> = new Set([
  'type',
  'properties',
  'required',
  'items',
  'anyOf',
  'enum',
  'description',
  'default',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
]);

/** Each schema in this one, with its place. */
function* schemasIn(schema: Schema, place: string): Generator<readonly [place: string, schema: Schema]> {
  yield [place, schema];
  const { properties = {}, items, anyOf = [] } = schema;
  for (const [name, member] of Object.entries(properties)) yield* schemasIn(member as Schema, `${place}.${name}`);
  for (const [n, branch] of anyOf.entries()) yield* schemasIn(branch as Schema, `${place}|${n}`);
  if (items !== undefined) yield* schemasIn(items as Schema, `${place}[]`);
}

t.test('the schemas say one type at a time, in words that every client knows', (t) => {
  for (const [name, { listed }] of TOOLS) {
    const { additionalProperties, ...inputs } = listed.inputSchema;
    t.equal(additionalProperties, false, `${name} takes what it names`);
    const schemas = [
      ...schemasIn(inputs as Schema, `${name} takes`),
      ...schemasIn(listed.outputSchema as Schema, `${name} answers`),
    ];
    for (const [place, schema] of schemas) {
      t.ok(typeof schema.type === 'string' || (schema.anyOf?.length ?? 0) > 1, `${place} has a type`);
      t.strictSame(
        Object.keys(schema).filter((word) => !PLAIN_WORDS.has(word)),
        [],
        place,
      );
    }
  }
  t.end();
});

/** The schema, where each member has to be named. */
function closed(schema: Schema): Schema {
  const { properties, items, anyOf } = schema;
  const members = Object.entries(properties ?? {}).map(([name, member]) => [name, closed(member as Schema)]);
  return {
    ...schema,
    ...(items !== undefined && { items: closed(items as Schema) }),
    ...(anyOf && { anyOf: anyOf.map((branch) => closed(branch as Schema)) }),
    ...(members.length > 0 && { properties: Object.fromEntries(members), additionalProperties: false }),
  };
}

const CLOSED = new Map([...TOOLS].map(([name, { listed }]) => [name, closed(listed.outputSchema as Schema)]));

interface Caller {
  readonly t: Test;
  readonly world: TestRelay;
  readonly client: Client;
}

/** The official client has listed the tools, so it checks each answer itself, and rejects what does not fit. */
async function caller(t: Test, era: Era, options: Parameters<typeof createTestRelay>[0] = {}): Promise<Caller> {
  const world = await createTestRelay(options);
  useVirtualTimers(t, world.clock);
  const client = await connectClient(world, era);
  await world.settle(client.listTools());
  t.teardown(() => client.close());
  return { t, world, client };
}

/** The answer, when all of it is what the tool has published. */
async function call({ t, world, client }: Caller, name: string, args: Record<string, unknown> = {}) {
  const { structuredContent } = await world.settle(client.callTool({ name, arguments: args }));
  const { errors } = new Validator(CLOSED.get(name)!, '2020-12', false).validate(structuredContent);
  t.strictSame(errors, [], `${name}: ${JSON.stringify(structuredContent)}`.slice(0, 300));
  return structuredContent as Record<string, unknown>;
}

const start = { graph_session_id: session(1).graph_session_id, arguments: { city: 'Łódź' } };

for (const era of ERAS) {
  t.test(`lists fit what is published, in ${era}`, async (t) => {
    const way = await caller(t, era);
    const { world } = way;
    t.match(await call(way, 'list_graph_sessions'), { sessions: [], active_runs: undefined });
    await completeRun(world, await startedRun(world));
    const arguments_schema = { type: 'object', properties: { city: { type: ['string', 'null'] } }, $defs: {} };
    const sessions = [session(1, { arguments_schema }), session(2)];
    await world.settle(world.trpc('sync', syncInput({ projects: [{ project_id: PROJECT, sessions }] })));
    await startRun(world);
    t.match(await call(way, 'list_graph_sessions'), {
      sessions: [{ arguments_schema, typical_run: { runs: 1 } }, { typical_run: null }],
      active_runs: [{ status: 'queued' }],
    });
    await world.settle(world.trpc('sync', syncInput({ leaving: 'asleep' })));
    t.match(await call(way, 'list_graph_sessions'), {
      sessions: [{ desktop: { asleep: true, asleep_since: String } }],
    });
  });

  t.test(`tickets fit what is published, in ${era}`, async (t) => {
    const way = await caller(t, era);
    await syncDesktop(way.world);
    const input = { ...start, idempotency_key: 'key-12345' };
    t.match(await call(way, 'run_graph_session', input), { status: 'queued', replayed: false });
    t.match(await call(way, 'run_graph_session', input), { replayed: true });
    t.match(await call(way, 'run_graph_session', { ...start, idempotency_key: 'key-67890' }), {
      identical_waiting_run: String,
    });
  });

  t.test(`a run on its way fits what is published, in ${era}`, async (t) => {
    const way = await caller(t, era);
    const { world } = way;
    await syncDesktop(world);
    const { command_id } = await startRun(world);
    t.match(await call(way, 'get_graph_run', { command_id }), { status: 'queued', ahead: 0 });
    t.match(await call(way, 'get_graph_run', { command_id }), { unchanged: true });
    t.match(await call(way, 'get_graph_run', { command_id, wait_seconds: 60 }), { wait_seconds_granted: 50 });
    await syncDesktop(world);
    await beginRun(world, command_id);
    t.match(await call(way, 'get_graph_run', { command_id }), { status: 'running', ahead: null, result: undefined });
    t.match(await call(way, 'cancel_graph_run', { command_id }), { cancel_requested: true });
    await completeRun(world, command_id, { status: 'cancelled', result: null });
    t.match(await call(way, 'cancel_graph_run', { command_id }), { status: 'cancelled' });
  });

  t.test(`each kind of end fits what is published, in ${era}`, async (t) => {
    const way = await caller(t, era);
    const { world } = way;
    for (const result of [{ a: [1, null] }, [], ['x', 1], 'text', '', 0.5, -3, true, false, null]) {
      const command_id = await startedRun(world);
      await completeRun(world, command_id, { result, reported_cost: 0.25 });
      t.match(await call(way, 'get_graph_run', { command_id }), { status: 'completed', reported_cost: 0.25 });
    }
    for (const end of [{ result_truncated: true, result_chars: 250_000 }, { result_truncated: true }]) {
      const command_id = await startedRun(world);
      await completeRun(world, command_id, { ...end, result: undefined });
      t.match(await call(way, 'get_graph_run', { command_id }), {
        result_truncated: true,
        result_limit_chars: 100_000,
      });
    }
    const failed = await startedRun(world);
    await completeRun(world, failed, {
      status: 'failed',
      result: undefined,
      error: 'The Graph threw.',
      total_tokens: null,
    });
    t.match(await call(way, 'get_graph_run', { command_id: failed }), { status: 'failed', error: /threw/ });
  });

  t.test(`a run that nobody ends fits what is published, in ${era}`, async (t) => {
    const way = await caller(t, era, { limits: { lostAfterMs: 60 * SECOND } });
    const { world } = way;
    const lost = await startedRun(world);
    const { command_id: expired } = await startRun(world, { start_within_seconds: 30 });
    await world.clock.advance(HOUR);
    t.match(await call(way, 'get_graph_run', { command_id: lost }), { status: 'lost', error: String });
    t.match(await call(way, 'get_graph_run', { command_id: expired }), { status: 'expired', error: String });
    t.match(await call(way, 'list_graph_sessions'), { sessions: [{ desktop: { online: false, transport: null } }] });
  });

  t.test(`the official client would not take what does not fit, in ${era}`, async (t) => {
    const { world } = await caller(t, era);
    const spoilt = async (request: Request) => {
      const answer = await world.relay.fetch(request);
      return new Response((await answer.text()).replace('"sessions":[]', '"sessions":"none"'), answer);
    };
    const client = await connectClient({ ...world, relay: { ...world.relay, fetch: spoilt } }, era);
    await world.settle(client.listTools());
    await t.rejects(world.settle(client.callTool({ name: 'list_graph_sessions', arguments: {} })), /schema/i);
    await client.close();
  });
}
