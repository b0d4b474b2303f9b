/** Desktops that go in the middle of a run, and come back late, changed, or never. */
import t from 'tap';
import { LOST_AFTER_MS } from '../../protocol/limits.ts';
import { RESTARTED_DURING_RUN } from '../../protocol/texts.ts';
import { startWholeDesktop, TRIP_MS, type WholeDesktop } from './desktop.ts';
import { createTestRelay, HOUR, readRun, SECOND, startRun, type TestRelay } from './support.ts';

const MINUTE = 60 * SECOND;

/** A run that goes on, when its desktop is gone without a word. */
async function goneInMidRun(
  how: 'powerless' | 'cut off',
): Promise<{ world: TestRelay; desktop: WholeDesktop; id: string }> {
  const world = await createTestRelay();
  const desktop = await startWholeDesktop(world, { runMs: 5 * MINUTE });
  const { command_id: id } = await startRun(world, { arguments: { n: 1 } });
  await world.clock.advance(10 * SECOND);
  t.equal((await readRun(world, id)).status, 'running');
  if (how === 'powerless') desktop.powerOff();
  else desktop.network = false;
  return { world, desktop, id };
}

t.test(
  'a run whose desktop lost its power and never returns ends as lost, and what waited expires (C57)',
  async (t) => {
    const { world, id } = await goneInMidRun('powerless');
    const { command_id: waiting } = await startRun(world, { start_within_seconds: HOUR / SECOND });
    await world.clock.advance(LOST_AFTER_MS - MINUTE);
    t.match(
      await readRun(world, id),
      { status: 'running', desktop: { online: false } },
      'the caller sees that it is gone',
    );
    await world.clock.advance(MINUTE + 25 * SECOND);
    const run = await readRun(world, id);
    t.match(run, { status: 'lost', error: /not been heard of for too long/ });
    t.type(run.timing.finished_at, 'string');
    await world.clock.advance(HOUR);
    t.equal((await readRun(world, id)).status, 'lost');
    t.match(await readRun(world, waiting), { status: 'expired', timing: { started_at: null } });
  },
);

t.test(
  'a desktop that was only cut off delivers its result hours later, and the run is completed after all (C57)',
  async (t) => {
    const { world, desktop, id } = await goneInMidRun('cut off');
    await world.clock.advance(3 * HOUR);
    t.equal((await readRun(world, id)).status, 'lost');
    desktop.network = true;
    await world.clock.advance(MINUTE);
    t.match(await readRun(world, id), { status: 'completed', error: null, result: { args: { n: 1 } } });
    t.same(desktop.started, [id], 'it ran once');
    t.match(desktop.agent.snapshot(), { connected: true, holding: [], outbox: { pending: 0, refused: [] } });
  },
);

t.test(
  'a desktop that comes back after a reboot says that the run was interrupted, and takes the next one (C57)',
  async (t) => {
    const { world, desktop, id } = await goneInMidRun('powerless');
    const { command_id: next } = await startRun(world);
    await world.clock.advance(3 * HOUR);
    t.equal((await readRun(world, id)).status, 'lost');
    const reborn = await desktop.reborn({ runMs: SECOND });
    await world.clock.advance(MINUTE);
    t.match(await readRun(world, id), { status: 'failed', error: RESTARTED_DURING_RUN });
    t.equal((await readRun(world, next)).status, 'completed');
    t.same(reborn.started, [id, next], 'nothing ran again');
  },
);

t.test('a run that takes an hour lives through a drain that lets it finish (C53)', async (t) => {
  const world = await createTestRelay();
  const desktop = await startWholeDesktop(world, { runMs: HOUR });
  const { command_id: running } = await startRun(world, { arguments: { n: 1 } });
  const { command_id: waiting } = await startRun(world);
  await world.clock.advance(10 * SECOND);
  const drained = desktop.agent.drain(2 * HOUR);
  for (let minute = 0; minute < 59; minute++) {
    await world.clock.advance(MINUTE);
    t.equal((await readRun(world, running)).status, 'running', `after ${minute + 1} min`);
  }
  t.match(await readRun(world, waiting), { status: 'queued', desktop: { online: false, asleep: false } });
  await world.settle(drained);
  t.match(await readRun(world, running), { status: 'completed', result: { args: { n: 1 } } });
  t.same(desktop.started, [running], 'it took nothing new');
});

t.test('a completion that is answered 401 and then 403 is kept, slowed down, told and delivered (C38)', async (t) => {
  const world = await createTestRelay();
  const bearers = ['grd_of-nobody', world.agentToken];
  const onRequest = (request: Request) => {
    const bearer = request.url.endsWith('relay.complete') ? bearers.shift() : undefined;
    if (bearer === undefined) return request;
    const headers = new Headers(request.headers);
    headers.set('authorization', `Bearer ${bearer}`);
    return new Request(request, { headers });
  };
  const desktop = await startWholeDesktop(world, { runMs: SECOND, onRequest });
  const { command_id: id } = await startRun(world, { arguments: { n: 1 } });
  await world.clock.advance(SECOND + 10 * TRIP_MS);
  t.equal(desktop.agent.snapshot().outbox.pending, 1, 'the owner sees it in the status');
  await world.clock.advance(MINUTE);
  const told = desktop.lines.filter(({ event }) => event.startsWith('outbox.'));
  t.match(told, [
    { event: 'outbox.delayed', fields: { command_id: id, code: 'unauthorized' } },
    { event: 'outbox.delayed', fields: { command_id: id, code: 'forbidden' } },
    { event: 'outbox.delivered', fields: { command_id: id, already: false } },
  ]);
  t.match(await readRun(world, id), { status: 'completed', result: { args: { n: 1 } } });
  t.equal((await readRun(world, (await startRun(world)).command_id)).desktop.online, true, 'and the desktop stays');
});

t.test(
  'a desktop whose token stops working ends, and delivers what it has when the token is good again (C38)',
  async (t) => {
    const world = await createTestRelay();
    let works = true;
    const onRequest = (request: Request) => {
      if (works) return request;
      return new Request(request, {
        headers: { ...Object.fromEntries(request.headers), authorization: 'Bearer grd_x' },
      });
    };
    const desktop = await startWholeDesktop(world, { runMs: 5 * SECOND, onRequest });
    const { command_id: id } = await startRun(world, { arguments: { n: 1 } });
    await world.clock.advance(2 * SECOND);
    works = false;
    await world.clock.advance(MINUTE);
    t.equal(await desktop.ended, 'unauthorized');
    t.equal(desktop.agent.snapshot().outbox.pending, 1);
    t.same(desktop.agent.snapshot().outbox.refused, [], 'what the run gave is not thrown away');
    works = true;
    await desktop.reborn();
    await world.clock.advance(MINUTE);
    t.match(await readRun(world, id), { status: 'completed', result: { args: { n: 1 } } });
    t.same(desktop.started, [id]);
  },
);

t.test(
  'a completion of a version that the relay does not serve waits until it does, and ends its run (C39)',
  async (t) => {
    const world = await createTestRelay();
    let version = '99';
    const statuses: number[] = [];
    const onRequest = (request: Request) => {
      if (!request.url.endsWith('relay.complete')) return request;
      const headers = new Headers(request.headers);
      headers.set('x-graph-relay-protocol', version);
      return new Request(request, { headers });
    };
    const desktop = await startWholeDesktop(world, { runMs: SECOND, onRequest });
    const { fetch } = world.relay;
    Object.assign(world.relay, {
      async fetch(request: Request) {
        const answer = await fetch(request);
        if (request.url.endsWith('relay.complete')) statuses.push(answer.status);
        return answer;
      },
    });
    const { command_id: id } = await startRun(world, { arguments: { n: 1 } });
    await world.clock.advance(2 * MINUTE);
    t.same([...new Set(statuses)], [400], 'refused as input, and never a fault');
    t.ok(statuses.length < 30, `${statuses.length} attempts in two minutes`);
    t.match(await readRun(world, id), { status: 'running' });
    version = '2';
    await world.clock.advance(MINUTE);
    t.match(await readRun(world, id), { status: 'completed', result: { args: { n: 1 } } });
    t.same(desktop.agent.snapshot().outbox, { pending: 0, refused: [] });
  },
);
