/** How runs begin and end: the ack, cancels, completions, and who may see what came of it. */
import t from 'tap';
import type { RunView } from '../../server/agent-api.ts';
import {
  cancel,
  connectedSite,
  HOLD_MS,
  NOBODY,
  newAgent,
  offeredIds,
  pending,
  queue,
  read,
  restarted,
  rowOf,
  startedRun,
} from './support.ts';

t.test('an ack may be repeated, and only its execution may run (C47, C65)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  const startedAt = rowOf(site, commandId).startedAt;
  await site.clock.advance(500);
  t.match((await desk.control(commandId)).data, { cancel: false, reason: null });
  t.equal(rowOf(site, commandId).startedAt, startedAt, 'the second ack starts nothing anew');
  const other = await desk.control(commandId, { execution_id: NOBODY });
  t.match(other.data, { cancel: true, reason: 'ended' });
  t.equal(rowOf(site, commandId).executionId, desk.execution(commandId));
});

t.test('a completion is stored once, and told again as already stored (C54)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  const result = { text: '日本 \u{1f469}\u200d\u{1f467}', lines: '\u0085\u2028\u2029\r\n' };
  t.match((await desk.complete(commandId, { result, total_tokens: 3 })).data, { stored: true, already: false });
  const again = await desk.complete(commandId, { result: 'something else', total_tokens: 4 });
  t.match(again.data, { stored: true, already: true });
  const run = await read(site, agent, commandId);
  t.match(run, { status: 'completed', total_tokens: 3, error: null });
  t.strictSame(run.result, result);
});

t.test('a result comes back as it was sent, whatever its keys are called (C121)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const text = '{"__proto__":{"a":1},"constructor":2,"toString":3,"":4}';
  const args = JSON.parse(text) as Record<string, unknown>;
  const { command_id } = await queue(site, agent, { arguments: args });
  const offer = (await desk.sync()).text;
  t.ok(offer.includes(`"arguments":${text}`), 'arguments reach the desktop whole');
  await desk.control(command_id);
  await desk.complete(command_id, { result: JSON.parse(text) });
  t.equal(JSON.stringify((await read(restarted(site), agent, command_id)).result), text);
});

for (const result of [null, 0, '', false, [], 'x']) {
  t.test(`the result ${JSON.stringify(result)} is a result`, async (t) => {
    const { site, agent, desk } = await connectedSite();
    const commandId = await startedRun({ site, agent, desk });
    await desk.complete(commandId, { result });
    const run = await read(site, agent, commandId);
    t.ok(Object.hasOwn(run, 'result'));
    t.strictSame(run.result, result);
  });
}

t.test('a result that was too long is told as truncated, and is no result', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  await desk.complete(commandId, { result_truncated: true });
  const run = await read(site, agent, commandId);
  t.match(run, { status: 'completed', result_truncated: true });
  t.notOk(Object.hasOwn(run, 'result'));
});

t.test('a completion of a command that is not known is refused for good (C60)', async (t) => {
  const { desk } = await connectedSite();
  for (const id of [NOBODY, NOBODY.replaceAll('9', 'a').toUpperCase()]) {
    const refused = await desk.complete(id, { execution_id: NOBODY });
    t.match(refused, { status: 404, error: { data: { relayCode: 'unknown-command' } } });
  }
});

t.test('a completion of another execution is refused for good and changes nothing (C60)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  const before = rowOf(site, commandId);
  const refused = await desk.complete(commandId, { execution_id: NOBODY, result: 'forged' });
  t.match(refused, { status: 409, error: { data: { relayCode: 'execution-refused' } } });
  t.equal(rowOf(site, commandId), before);
});

t.test('a completion with ids in capitals is the same one (C125)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  const ids = { command_id: commandId.toUpperCase(), execution_id: desk.execution(commandId).toUpperCase() };
  t.match((await desk.complete(commandId, { ...ids, result: 1 })).data, { stored: true, already: false });
  t.match(await read(site, agent, commandId), { status: 'completed', execution_id: desk.execution(commandId) });
  t.equal(site.store.rows('command').size, 1);
});

t.test(
  'a completion with an unknown status or a missing field is refused as input, and ends its run as failed (C39)',
  async (t) => {
    const { site, agent, desk } = await connectedSite();
    const commandId = await startedRun({ site, agent, desk });
    const bad = [{ status: 'agent-crashed' }, { status: undefined }, { execution_id: undefined }];
    for (const changes of bad) {
      const refused = await desk.complete(commandId, changes as never);
      t.match(refused, { status: 400, error: { data: { relayCode: 'invalid-input' } } }, JSON.stringify(changes));
    }
    t.match(await read(site, agent, commandId), { status: 'failed' }, 'the desktop has no other word for it');
  },
);

t.test('a completion with unknown fields is taken (C39)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  const newer = { version_of_tomorrow: 2 } as never;
  t.match((await desk.complete(commandId, newer)).data, { stored: true, already: false });
});

t.test('a cancel of a queued run ends it at once, and the desktop never gets it (C48)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  t.match(await cancel(site, agent, command_id), { status: 'cancelled', ahead: null, cancel_requested: true });
  t.same(offeredIds(await desk.sync()), []);
});

t.test(
  'a cancel between offer and ack answers the ack with do not run, and the next run goes on (C30, C35, C47, C50)',
  async (t) => {
    const { site, agent, desk } = await connectedSite();
    const { command_id } = await queue(site, agent);
    await desk.sync();
    t.equal((await cancel(site, agent, command_id)).status, 'cancelled');
    t.match((await desk.control(command_id)).data, { cancel: true, reason: 'cancelled' });
    t.equal((await read(site, agent, command_id)).execution_id, null, 'nothing was started');
    const next = await queue(site, agent);
    t.same(offeredIds(await desk.sync()), [next.command_id]);
  },
);

t.test('a cancel of a running run reaches the held control in the same turn (C44, C47)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  const held = pending(desk.ask(commandId, { phase: 'running', hold_ms: HOLD_MS }));
  await site.clock.advance(4_000);
  t.equal(held.value, null);
  t.match(await cancel(site, agent, commandId), { status: 'running', cancel_requested: true });
  await site.clock.advance(0);
  t.match(held.value?.data, { cancel: true, reason: 'cancelled' });
  t.match((await desk.control(commandId, { phase: 'running' })).data, { cancel: true }, 'and each later one too');
});

t.test('a held control without news ends empty, and at once when the run has ended', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  const first = pending(desk.ask(commandId, { phase: 'running', hold_ms: HOLD_MS }));
  await site.clock.advance(HOLD_MS);
  t.match(first.value?.data, { cancel: false, reason: null });
  const second = pending(desk.ask(commandId, { phase: 'running', hold_ms: HOLD_MS }));
  await desk.complete(commandId);
  t.match(second.value?.data, { cancel: true, reason: 'ended' });
});

t.test('a finish that comes after a cancel leaves the run cancelled, without its result (C44)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  await cancel(site, agent, commandId);
  await site.clock.advance(30_000);
  t.match((await desk.complete(commandId, { result: 'done anyway' })).data, { stored: true });
  const run = await read(site, agent, commandId);
  t.equal(run.status, 'cancelled');
  t.notOk(Object.hasOwn(run, 'result'));
});

const ENDS: Readonly<Record<string, object>> = {
  completed: { status: 'completed', result: 1 },
  failed: { status: 'failed', error: 'broke' },
  cancelled: { status: 'cancelled' },
};

for (const [status, completion] of Object.entries(ENDS)) {
  t.test(`a cancel of a run that is ${status} changes nothing (C127)`, async (t) => {
    const { site, agent, desk } = await connectedSite();
    const commandId = await startedRun({ site, agent, desk });
    await desk.complete(commandId, completion);
    const row = rowOf(site, commandId);
    t.equal((await cancel(site, agent, commandId)).status, status);
    t.equal(rowOf(site, commandId), row);
  });
}

t.test('a run whose offer was taken back is completed all the same', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await desk.sync();
  await site.clock.advance(10_000);
  t.equal(rowOf(site, command_id).status, 'queued');
  t.match((await desk.complete(command_id, { result: 5 })).data, { stored: true, already: false });
  t.match(await read(site, agent, command_id), { status: 'completed', result: 5 });
  t.same(offeredIds(await desk.sync()), []);
});

t.test('only the agent that started a run may read or cancel it, and others cannot tell that it exists', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { agent: other } = await newAgent(site, 'other agent');
  const commandId = await startedRun({ site, agent, desk });
  await desk.complete(commandId, { result: 'private' });
  const told = { message: 'Graph run not found or access removed' };
  for (const id of [commandId, NOBODY]) {
    await t.rejects(read(site, other, id), told);
    await t.rejects(cancel(site, other, id), told);
  }
  const removed = { ...agent, projects: [] };
  await t.rejects(read(site, removed, commandId), told, 'nor an agent whose project was taken away');
});

t.test('a wait for a run ends with the first change that its caller can see', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  const signal = new AbortController().signal;
  const wait = () => pending<RunView>(site.relay.agents.getRun(agent, { command_id, waitMs: 50_000, signal }));
  const first = wait();
  await site.clock.advance(1_000);
  await desk.sync();
  t.equal(first.value, null, 'an offer is nothing to see');
  await desk.control(command_id);
  t.equal(first.value?.status, 'running');
  const second = wait();
  await desk.complete(command_id, { result: 1 });
  t.equal(second.value?.status, 'completed');
  t.equal((await site.clock.settle(wait().promise)).status, 'completed', 'an ended run is told at once');
});
