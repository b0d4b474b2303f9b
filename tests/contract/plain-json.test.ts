import t from 'tap';
import { ERRORS } from '../../protocol/errors.ts';
import { LOST_AFTER_MS, PLAIN_POLL_MS } from '../../protocol/limits.ts';
import {
  createTestRelay,
  PROJECT,
  readRun,
  SECOND,
  session,
  startRun,
  syncInput,
  type TestRelay,
  uuid,
} from './support.ts';

const EXECUTION = 'x-run-01';

function sync(world: TestRelay, project_id = PROJECT, sessions = [session(1)], more: object = {}) {
  return world.settle(world.plain('sync', { project_id, sessions, ...more }));
}

function control(world: TestRelay, command_id: string, execution_id = EXECUTION) {
  return world.settle(world.plain('control', { command_id, execution_id }));
}

function complete(world: TestRelay, command_id: string, more: object = {}) {
  const completion = { command_id, execution_id: EXECUTION, status: 'completed', result: { ok: true }, ...more };
  return world.settle(world.plain('complete', completion));
}

function idsIn(answer: { body: { commands: { command_id: string }[] } }): string[] {
  return answer.body.commands.map(({ command_id }) => command_id);
}

t.test('a pass of the published system: sync, run with a control each 3 s, complete', async (t) => {
  const world = await createTestRelay();
  t.strictSame((await sync(world)).body, { commands: [] });
  const { command_id } = await startRun(world, { arguments: { to: 'a' } });
  const { status, body } = await sync(world);
  t.equal(status, 200);
  t.match(body, {
    commands: [{ command_id, project_id: PROJECT, slug: 'graph-1', arguments: { to: 'a' }, queued_at_ms: Number }],
  });
  await world.clock.advance(3 * SECOND);
  t.strictSame((await control(world, command_id)).body, { cancel: false, reason: null });
  t.match(await readRun(world, command_id), {
    status: 'running',
    execution_id: EXECUTION,
    timing: { transport: 'plain' },
  });
  await world.clock.advance(3 * SECOND);
  await control(world, command_id);
  t.strictSame((await complete(world, command_id, { total_tokens: 7, reported_cost: 0.5 })).body, {
    stored: true,
    already: false,
  });
  t.strictSame((await complete(world, command_id)).body, { stored: true, already: true });
  t.match(await readRun(world, command_id), {
    status: 'completed',
    result: { ok: true },
    total_tokens: 7,
    reported_cost: 0.5,
    desktop: { online: true, transport: 'plain' },
  });
});

t.test('a sync of one project leaves shares and offers of the others alone', async (t) => {
  const world = await createTestRelay({ projects: ['a', 'b'] });
  await sync(world, 'a', [session(1)]);
  await sync(world, 'b', [session(2)]);
  const listed = async (project_id: string) =>
    (await world.settle(world.relay.agents.listSessions(world.agent, { project_id, limit: 50 }))).sessions.length;
  t.equal(await listed('a'), 1);
  const a = await startRun(world, { n: 1 });
  const b = await startRun(world, { n: 2 });
  t.strictSame(idsIn(await sync(world, 'b', [session(2)])), [b.command_id], 'only what is queued for that project');
  t.strictSame(idsIn(await sync(world, 'a', [session(1)])), [a.command_id]);
  t.equal((await readRun(world, b.command_id)).status, 'queued', 'not taken back');
  await sync(world, 'a', []);
  t.equal(await listed('a'), 0, 'an empty list ends the sharing');
  t.equal(await listed('b'), 1);
  t.match(await readRun(world, a.command_id), {
    status: 'cancelled',
    error: 'Graph session is no longer shared with this project',
  });
  t.equal((await readRun(world, b.command_id)).status, 'queued');
});

t.test('what was handed out together is not handed out again while the desktop works through it (C65)', async (t) => {
  const world = await createTestRelay();
  await sync(world);
  const queued = [await startRun(world), await startRun(world), await startRun(world)].map((run) => run.command_id);
  t.strictSame(idsIn(await sync(world)), queued, 'all at once, in order');
  for (const command_id of queued) {
    // Each takes ten minutes; a desktop that syncs although it is busy gets nothing twice.
    for (let elapsed = 0; elapsed < 600; elapsed += 3) {
      await world.clock.advance(3 * SECOND);
      t.equal((await control(world, command_id, `run-${command_id}`)).body.cancel, false);
      if (elapsed % 60 === 0) t.strictSame(idsIn(await sync(world)), []);
    }
    await complete(world, command_id, { execution_id: `run-${command_id}` });
  }
  for (const command_id of queued) t.equal((await readRun(world, command_id)).status, 'completed');
});

t.test('an answer that was lost is given again at the next poll', async (t) => {
  const world = await createTestRelay();
  await sync(world);
  const { command_id } = await startRun(world);
  t.strictSame(idsIn(await sync(world)), [command_id]);
  await world.clock.advance(3 * SECOND);
  t.strictSame(idsIn(await sync(world)), [], 'within the lease it counts as taken');
  await world.clock.advance(PLAIN_POLL_MS - 3 * SECOND);
  t.strictSame(idsIn(await sync(world)), [command_id]);
});

t.test('a run that is completed without a control was started at an unknown time', async (t) => {
  const world = await createTestRelay();
  await sync(world);
  const { command_id } = await startRun(world);
  await sync(world);
  await complete(world, command_id);
  t.match(await readRun(world, command_id), {
    status: 'completed',
    execution_id: EXECUTION,
    timing: { started_at: null, pickup_ms: null, transport: 'plain' },
  });
});

t.test('a cancel reaches the desktop with its next control, and before the run when it asks first', async (t) => {
  const world = await createTestRelay();
  await sync(world);
  const running = await startRun(world);
  const waiting = await startRun(world);
  await sync(world);
  await control(world, running.command_id);
  for (const { command_id } of [running, waiting]) {
    await world.settle(world.relay.agents.cancelRun(world.agent, { command_id }));
    t.strictSame((await control(world, command_id)).body, { cancel: true, reason: 'cancelled' });
  }
  await complete(world, running.command_id, { status: 'completed' });
  t.equal((await readRun(world, running.command_id)).status, 'cancelled', 'cancelled wins');
});

t.test(
  'a run that the desktop has forgotten is lost, though the desktop lives, and a late result repairs it',
  async (t) => {
    const world = await createTestRelay();
    await sync(world);
    const { command_id } = await startRun(world);
    await sync(world);
    await control(world, command_id);
    for (let elapsed = 0; elapsed < LOST_AFTER_MS + PLAIN_POLL_MS; elapsed += PLAIN_POLL_MS) {
      await world.clock.advance(PLAIN_POLL_MS);
      t.strictSame(idsIn(await sync(world)), [], 'never run again');
    }
    t.equal((await readRun(world, command_id)).status, 'lost');
    await complete(world, command_id);
    t.equal((await readRun(world, command_id)).status, 'completed');
  },
);

t.test('with an instance id, a restart gives up what ran and takes what waited, at once (C65)', async (t) => {
  const world = await createTestRelay();
  await sync(world, PROJECT, [session(1)], { instance_id: uuid(1) });
  const running = await startRun(world);
  const waiting = await startRun(world);
  await sync(world, PROJECT, [session(1)], { instance_id: uuid(1) });
  await control(world, running.command_id);
  t.strictSame(idsIn(await sync(world, PROJECT, [session(1)], { instance_id: uuid(2) })), [waiting.command_id]);
  t.equal((await readRun(world, running.command_id)).status, 'lost');
  const old = await sync(world, PROJECT, [session(1)], { instance_id: uuid(1) });
  t.equal(old.status, 409);
  t.equal(old.body.error.code, 'session-replaced');
});

t.test('a command is on disk before a desktop without an ack is told to run it', async (t) => {
  const world = await createTestRelay({ diskMs: 50 });
  await sync(world);
  const ticket = startRun(world);
  const asked = world.plain('sync', { project_id: PROJECT, sessions: [session(1)] });
  let answered = false;
  void asked.then(() => {
    answered = true;
  });
  await world.clock.advance(40);
  t.equal(answered, false);
  t.strictSame(idsIn(await world.settle(asked)), [(await ticket).command_id]);
});

t.test('a plain offer is no business of a desktop of version 2 with the same token', async (t) => {
  const world = await createTestRelay();
  await sync(world);
  const { command_id } = await startRun(world);
  t.strictSame(idsIn(await sync(world)), [command_id]);
  const { body } = await world.settle(world.trpc('sync', syncInput()));
  t.strictSame(body.result.data.commands, [], 'it would run twice');
});

t.test('errors are {error: {code, message}} with the status of the table', async (t) => {
  const world = await createTestRelay();
  const refused: readonly (readonly [string, object | string, object, keyof typeof ERRORS])[] = [
    ['sync', { project_id: PROJECT, sessions: [] }, { headers: { authorization: 'Bearer wrong' } }, 'unauthorized'],
    ['sync', { project_id: 'elsewhere', sessions: [] }, {}, 'forbidden'],
    ['sync', { project_id: PROJECT }, {}, 'invalid-input'],
    ['sync', '{"project_id"', {}, 'invalid-input'],
    ['control', { command_id: '1' }, {}, 'invalid-input'],
    ['complete', { command_id: uuid(5), execution_id: 'x', status: 'completed' }, {}, 'unknown-command'],
    ['sync', 'x'.repeat(17 * 1024 * 1024), {}, 'too-large'],
  ];
  for (const [call, body, from, code] of refused) {
    const answer = await world.settle(world.plain(call, body, from));
    t.equal(answer.status, ERRORS[code].http, code);
    t.match(answer.body, { error: { code, message: /\w/ } });
    t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  }
  const get = await world.relay.fetch(new Request('http://relay.test/external-assistants/graph-relays/sync'));
  t.equal(get.status, 405);
  t.equal(get.headers.get('allow'), 'POST');
});

t.test('ids come back in one case, whatever case the desktop sends (C125)', async (t) => {
  const world = await createTestRelay();
  await sync(world);
  const { command_id } = await startRun(world);
  await sync(world);
  const execution = 'ABCDEF01-0000-4000-8000-00000000ABCD';
  await control(world, command_id.toUpperCase(), execution);
  await complete(world, command_id.toUpperCase(), { execution_id: execution.toLowerCase() });
  t.match(await readRun(world, command_id), { status: 'completed', execution_id: execution.toLowerCase() });
});

t.test('a result with a number that would be changed in silence ends its run with the way out (C122)', async (t) => {
  for (const [result, problem] of [
    ['{"id":2512292042121000001}', /id is 2512292042121000001, .*send it as a string/],
    ['[1e400]', /0 is 1e400/],
    ['{"id":9007199254740991,"f":0.1}', null],
  ] as const) {
    const world = await createTestRelay();
    await sync(world);
    const { command_id } = await startRun(world);
    await sync(world);
    const body = `{"command_id":"${command_id}","execution_id":"x","status":"completed","result":${result}}`;
    const answer = await world.settle(world.plain('complete', body));
    const run = await readRun(world, command_id);
    t.equal(answer.status, problem === null ? 200 : 400);
    t.equal(run.status, problem === null ? 'completed' : 'failed');
    if (problem !== null) t.match([run.error, answer.body.error.message], [problem, problem]);
  }
});

t.test('the OpenAPI document describes the three routes with the schemas that check them', async (t) => {
  const { relay } = await createTestRelay();
  const response = await relay.fetch(new Request('http://relay.test/openapi.json'));
  const document = JSON.parse(await response.text());
  t.equal(document.openapi, '3.1.0');
  t.strictSame(Object.keys(document.paths), [
    '/external-assistants/graph-relays/sync',
    '/external-assistants/graph-relays/control',
    '/external-assistants/graph-relays/complete',
  ]);
  const bodyOf = (call: string) =>
    document.paths[`/external-assistants/graph-relays/${call}`].post.requestBody.content['application/json'].schema;
  t.match(bodyOf('sync'), {
    required: ['project_id', 'sessions'],
    properties: {
      sessions: {
        maxItems: 100,
        items: { required: ['graph_session_id', 'name', 'description', 'slug', 'version', 'status'] },
      },
    },
  });
  t.match(bodyOf('complete'), { properties: { status: { enum: ['completed', 'failed', 'cancelled'] }, result: {} } });
  t.same(document.components.schemas.Error.properties.error.properties.code.enum, Object.keys(ERRORS));
  t.notMatch(JSON.stringify(document), /\$schema/);
});
