import t from 'tap';
import { ACTIVE_RUNS_SHOWN, HELD_PER_DESKTOP, QUEUED_PER_DESKTOP } from '../../protocol/limits.ts';
import { RUN_NOT_FOUND } from '../../protocol/texts.ts';
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

const two = [session(1), session(2)];

async function shared(options: Parameters<typeof createTestRelay>[0] = {}): Promise<TestRelay> {
  const world = await createTestRelay(options);
  await world.settle(
    world.trpc('sync', syncInput({ projects: [{ project_id: PROJECT, sessions: two }], capacity: 0 })),
  );
  return world;
}

t.test('a desktop that is offline takes so many runs and no more, and the list stays as it is (C63)', async (t) => {
  const world = await shared();
  for (let n = 0; n < QUEUED_PER_DESKTOP; n++) await startRun(world, { arguments: { n } });
  const refused = {
    code: 'queue-full',
    message: /^100 runs are waiting for this desktop.*Nothing was queued\..*cancel/,
  };
  await t.rejects(startRun(world), refused);
  const list = await world.relay.agents.listSessions(world.agent, { project_id: PROJECT, limit: 50 });
  t.equal(list.sessions.length, 2);
  t.equal(list.active_runs?.length, ACTIVE_RUNS_SHOWN);
  const newest = list.active_runs![0]!.command_id;
  await world.relay.agents.cancelRun(world.agent, { command_id: newest });
  await startRun(world);
  await t.rejects(startRun(world), refused);
});

t.test('a project takes so many runs on all its desktops together', async (t) => {
  const world = await createTestRelay({ desktops: 2, limits: { queuedPerProject: 3 } });
  for (const desktop of [0, 1]) {
    const projects = [{ project_id: PROJECT, sessions: [session(desktop + 1)] }];
    await world.settle(world.trpc('sync', syncInput({ projects, capacity: 0 }), { desktop }));
  }
  for (const n of [1, 1, 2]) await startRun(world, { n });
  await t.rejects(startRun(world, { n: 2 }), { code: 'queue-full', message: /^3 runs are waiting in this project/ });
});

t.test('an identical run that waits is pointed out, and a new key is a new run all the same (C63, C78)', async (t) => {
  const world = await shared();
  const first = await startRun(world, { arguments: { a: 1, b: 2 } });
  t.equal(first.identical_waiting_run, undefined);
  const second = await startRun(world, { arguments: { b: 2, a: 1 } });
  t.not(second.command_id, first.command_id);
  t.equal(second.identical_waiting_run, first.command_id);
  t.equal((await startRun(world, { arguments: { a: 2 } })).identical_waiting_run, undefined);
  const theirs = await startRun(world, { arguments: { a: 1, b: 2 }, agent: world.otherAgent });
  t.equal(theirs.identical_waiting_run, undefined, "another agent's runs are none of its business");
});

t.test('held controls and probes of a desktop are bounded, and the next one is told so', async (t) => {
  const world = await createTestRelay();
  const ends: Promise<{ status: number }>[] = [];
  for (let n = 0; n < HELD_PER_DESKTOP; n++) ends.push(world.trpc('probe', { hold_ms: 10 * SECOND }));
  await world.clock.advance(SECOND);
  const refused = await world.settle(world.trpc('probe', { hold_ms: 10 * SECOND }));
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('retry-after'), '5');
  t.match(refused.body.error, { message: /as many requests held/, data: { relayCode: 'too-many-held' } });
  t.equal((await world.settle(world.trpc('probe', { hold_ms: 0 }))).status, 200, 'a quick one is served');
  await world.clock.advance(10 * SECOND);
  for (const end of ends) t.equal((await end).status, 200);
  t.equal((await world.settle(world.trpc('probe', { hold_ms: SECOND }))).status, 200, 'and there is room again');
});

t.test('a newer control of a command takes the place of the older one in the count', async (t) => {
  const world = await shared({ limits: { heldPerDesktop: 1 } });
  const { command_id } = await startRun(world);
  const control = { command_id, execution_id: uuid(7), phase: 'running', hold_ms: 10 * SECOND };
  await world.settle(world.trpc('control', { ...control, phase: 'starting', hold_ms: 0 }));
  const older = world.trpc('control', control);
  await world.clock.advance(SECOND);
  const newer = world.trpc('control', control);
  await world.clock.advance(SECOND);
  t.equal((await older).status, 200);
  await world.relay.agents.cancelRun(world.agent, { command_id });
  t.match((await newer).body.result.data, { cancel: true, reason: 'cancelled' });
});

t.test('one wait too many of an agent is answered at once and says so; other agents still wait', async (t) => {
  const world = await shared({ limits: { waitsPerAgent: 2 } });
  const mine = await startRun(world);
  const theirs = await startRun(world, { agent: world.otherAgent });
  const wait = (command_id: string, agent = world.agent) =>
    world.relay.agents.getRun(agent, { command_id, waitMs: 20 * SECOND, signal: new AbortController().signal });
  const held = [wait(mine.command_id), wait(mine.command_id)];
  const other = wait(theirs.command_id, world.otherAgent);
  t.match(await wait(mine.command_id), { status: 'queued', wait_seconds_granted: 0 });
  let othersAnswer: unknown = null;
  void other.then((answer) => {
    othersAnswer = answer;
  });
  await world.clock.advance(19 * SECOND);
  t.equal(othersAnswer, null);
  await world.clock.advance(2 * SECOND);
  for (const answer of await Promise.all([...held, other])) t.equal(answer.wait_seconds_granted, undefined);
});

t.test(
  'a client that lost its ids finds its active runs, only its own, and cancels them from there (C87)',
  async (t) => {
    const world = await shared();
    const agents = world.relay.agents;
    const list = (agent = world.agent) => agents.listSessions(agent, { project_id: PROJECT, limit: 50 });
    t.strictSame(Object.keys(await list()), ['project_id', 'sessions'], 'nothing when there is none');
    const first = await startRun(world);
    await world.clock.advance(90 * SECOND);
    const second = await startRun(world, { n: 2 });
    await startRun(world, { agent: world.otherAgent });
    t.strictSame((await list()).active_runs, [
      {
        command_id: second.command_id,
        graph_session_id: session(2).graph_session_id,
        status: 'queued',
        age_seconds: 0,
      },
      {
        command_id: first.command_id,
        graph_session_id: session(1).graph_session_id,
        status: 'queued',
        age_seconds: 90,
      },
    ]);
    t.equal((await list(world.otherAgent)).active_runs?.length, 1);
    for (const { command_id } of (await list()).active_runs!) {
      await agents.cancelRun(world.agent, { command_id });
      t.equal((await readRun(world, command_id)).status, 'cancelled');
    }
    t.equal((await list()).active_runs, undefined);
  },
);

t.test('a run is lost after the time that the owner chose, and not before', async (t) => {
  const lostAfterMs = 60 * SECOND;
  const world = await createTestRelay({ limits: { lostAfterMs } });
  await world.settle(world.trpc('sync', syncInput()));
  const { command_id } = await startRun(world);
  await world.settle(world.trpc('sync', syncInput()));
  const control = { command_id, execution_id: uuid(7), phase: 'starting', hold_ms: 0 };
  await world.settle(world.trpc('control', control));
  await world.clock.advance(lostAfterMs - 10);
  t.equal((await readRun(world, command_id)).status, 'running');
  await world.clock.advance(20);
  t.equal((await readRun(world, command_id)).status, 'lost');
});

t.test('a revoked token ends all that its desktop has held, and nobody else’s', async (t) => {
  const world = await createTestRelay({ desktops: 2 });
  const hold = { hold_ms: 20 * SECOND };
  const own = [world.trpc('sync', syncInput(hold)), world.trpc('probe', hold), world.trpc('probe', hold)];
  const other = world.trpc('probe', hold, { desktop: 1 });
  await world.clock.advance(SECOND);
  const before = world.clock.monotonic();
  await world.settle(world.relay.access.revokeToken('d1'));
  for (const answer of own)
    t.match(await answer, { status: 401, body: { error: { data: { relayCode: 'unauthorized' } } } });
  t.equal(world.clock.monotonic(), before);
  t.equal((await world.settle(other)).status, 200);
});

t.test('a revoked token ends what its agent waits for, also of a run that was asked to stop already', async (t) => {
  const world = await shared();
  const { command_id } = await startRun(world);
  await world.settle(world.trpc('sync', syncInput()));
  await world.settle(world.trpc('control', { command_id, execution_id: uuid(7), phase: 'starting', hold_ms: 0 }));
  await world.settle(world.relay.agents.cancelRun(world.agent, { command_id }));
  const signal = new AbortController().signal;
  const waiting = world.relay.agents.getRun(world.agent, { command_id, waitMs: 20 * SECOND, signal });
  waiting.catch(() => {});
  await world.clock.advance(SECOND);
  const before = world.clock.monotonic();
  await world.settle(world.relay.access.revokeToken('first'));
  await t.rejects(world.settle(waiting), { message: RUN_NOT_FOUND });
  t.equal(world.clock.monotonic(), before, 'at once');
});
