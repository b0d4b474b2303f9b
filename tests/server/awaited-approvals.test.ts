/** A run that waits for its owner's word: what its desktop says, and what its agent sees of it. */
import t from 'tap';
import type { ControlInput } from '../../protocol/schemas.ts';
import type { OwnerAsked } from '../../server/agent-api.ts';
import { cancel, connectedSite, type Desk, HOLD_MS, pending, read, restarted, startedRun } from './support.ts';

const SECOND = 1_000;
const TOOL = 'files.write_file';

type Here = Awaited<ReturnType<typeof connectedSite>>;

/** A control of a run that goes on, as it is sent while this is asked. */
function says(tool: string, waiting_ms = 0): Partial<ControlInput> {
  return { phase: 'running', awaiting_approval: { tool, waiting_ms } };
}

/** Sends a control that is held, and lets it arrive. */
async function hold(desk: Desk, commandId: string, changes: Partial<ControlInput>) {
  const held = pending(desk.ask(commandId, { phase: 'running', hold_ms: HOLD_MS, ...changes }));
  await desk.site.clock.advance(0);
  return held;
}

function isoAgo({ site }: Here, ms: number): string {
  return new Date(site.clock.now() - ms).toISOString();
}

/** A look that waits for news, for as long as it may. */
async function wait({ site, agent }: Here, commandId: string) {
  const request = { command_id: commandId, waitMs: 50 * SECOND, signal: new AbortController().signal };
  const waiting = pending(site.relay.agents.getRun(agent, request));
  await site.clock.advance(0);
  return waiting;
}

async function asked(here: Here, commandId: string) {
  return (await read(here.site, here.agent, commandId)).awaiting_approval;
}

t.test(
  'what the owner is asked is seen beside the status, with the tool and since when, and nothing more',
  async (t) => {
    const here = await connectedSite();
    const commandId = await startedRun(here);
    t.notOk('awaiting_approval' in (await read(here.site, here.agent, commandId)), 'nothing is asked');
    await here.desk.control(commandId, says(TOOL, 3 * SECOND));
    const view = await read(here.site, here.agent, commandId);
    t.equal(view.status, 'running');
    t.strictSame(view.awaiting_approval, { tool: TOOL, since: isoAgo(here, 3 * SECOND) });
    const list = await here.site.relay.agents.listSessions(here.agent, { project_id: undefined, limit: 1 });
    t.match(list.active_runs, [{ command_id: commandId, awaiting_approval: { tool: TOOL } }]);
  },
);

t.test('a wait ends when the owner is asked, and when the answer is there', async (t) => {
  const here = await connectedSite();
  const commandId = await startedRun(here);
  const first = await wait(here, commandId);
  await here.site.clock.advance(7 * SECOND);
  const held = await hold(here.desk, commandId, says(TOOL));
  await here.site.clock.advance(0);
  t.match(first.value, { status: 'running', awaiting_approval: { tool: TOOL } });
  const second = await wait(here, commandId);
  await here.site.clock.advance(12 * SECOND);
  t.equal(second.value, null, 'nothing has changed');
  await hold(here.desk, commandId, { awaiting_approval: null });
  await here.site.clock.advance(0);
  t.match(held.value?.data, { cancel: false }, 'the newer control takes the place of the older one');
  t.equal(second.value?.status, 'running');
  t.equal(second.value?.awaiting_approval, undefined);
});

t.test('a wait of who knows nothing of a question that is open, or of its answer, is none', async (t) => {
  const here = await connectedSite();
  const commandId = await startedRun(here);
  const { signal } = new AbortController();
  const look = async (known: OwnerAsked | null) => {
    const request = { command_id: commandId, waitMs: 50 * SECOND, signal, known };
    const waiting = pending(here.site.relay.agents.getRun(here.agent, request));
    await here.site.clock.advance(0);
    return waiting;
  };
  await here.desk.control(commandId, says(TOOL));
  const first = await look(null);
  const { awaiting_approval: question } = first.value!;
  t.match(question, { tool: TOOL });
  const second = await look(question!);
  t.equal(second.value, null, 'that is known');
  await here.desk.control(commandId, { phase: 'running' });
  t.match(second.value, { status: 'running' });
  t.match((await look(question!)).value, { status: 'running' }, 'the answer came before the look');
  t.equal((await look(null)).value, null);
});

t.test('the next question is news, and the same one again is not, however long it was on its way', async (t) => {
  const here = await connectedSite();
  const commandId = await startedRun(here);
  await here.desk.control(commandId, says(TOOL));
  const since = isoAgo(here, 0);
  const waiting = await wait(here, commandId);
  await here.site.clock.advance(20 * SECOND);
  await here.desk.control(commandId, says(TOOL, 19 * SECOND));
  await here.desk.control(commandId, says(TOOL, 16 * SECOND));
  await here.desk.control(commandId, says(TOOL, 90 * SECOND));
  t.equal(waiting.value, null);
  t.strictSame(await asked(here, commandId), { tool: TOOL, since });
  await here.desk.control(commandId, says(TOOL, 2 * SECOND));
  t.match(waiting.value?.awaiting_approval, { tool: TOOL, since: isoAgo(here, 2 * SECOND) });
  const other = await wait(here, commandId);
  await here.desk.control(commandId, says('web.fetch', 2 * SECOND));
  t.match(other.value?.awaiting_approval, { tool: 'web.fetch' });
});

t.test('a control without it ends it, as does a desktop that knows nothing of approvals', async (t) => {
  const here = await connectedSite();
  const commandId = await startedRun(here);
  for (const silent of [{}, { awaiting_approval: null }] satisfies Partial<ControlInput>[]) {
    await here.desk.control(commandId, says(TOOL));
    t.ok(await asked(here, commandId));
    await here.desk.control(commandId, { phase: 'running', ...silent });
    t.equal(await asked(here, commandId), undefined);
  }
});

t.test('a run that has ended waits for nobody, and stays so', async (t) => {
  const here = await connectedSite();
  const commandId = await startedRun(here);
  await here.desk.control(commandId, says(TOOL));
  await here.desk.complete(commandId, { status: 'failed', error: 'the owner said no' });
  t.equal(await asked(here, commandId), undefined);
  await here.desk.control(commandId, says(TOOL));
  t.equal(await asked(here, commandId), undefined, 'a control that was late');
});

t.test('what another execution says, or who has gone away, is not taken', async (t) => {
  const here = await connectedSite();
  const commandId = await startedRun(here);
  const ids = { command_id: commandId, execution_id: here.desk.execution(commandId), hold_ms: 0 };
  const gone = here.desk.post('control', { ...ids, ...says(TOOL) }, { signal: AbortSignal.abort() });
  await here.site.clock.settle(gone.catch(() => {}));
  t.equal(await asked(here, commandId), undefined);
  const other = { ...says(TOOL), execution_id: here.site.ports.ids.uuid() };
  t.match((await here.desk.control(commandId, other)).data, { cancel: true });
  t.equal(await asked(here, commandId), undefined);
});

t.test('a cancel reaches a run that waits for its owner', async (t) => {
  const here = await connectedSite();
  const commandId = await startedRun(here);
  const held = await hold(here.desk, commandId, says(TOOL));
  await cancel(here.site, here.agent, commandId);
  await here.site.clock.advance(0);
  t.match(held.value?.data, { cancel: true, reason: 'cancelled' });
});

t.test('a relay that was restarted knows it again with the next control', async (t) => {
  const here = await connectedSite();
  const commandId = await startedRun(here);
  await here.desk.control(commandId, says(TOOL));
  const site = restarted(here.site);
  t.equal(await asked({ ...here, site }, commandId), undefined);
  const desk = here.desk.at(site);
  desk.executions.set(commandId, here.desk.execution(commandId));
  await desk.control(commandId, says(TOOL, 60 * SECOND));
  t.match(await asked({ ...here, site }, commandId), { since: isoAgo({ ...here, site }, 60 * SECOND) });
});

t.test('a name or a time beyond all bounds is cut, and costs nobody the control', async (t) => {
  const here = await connectedSite();
  const commandId = await startedRun(here);
  const { status } = await here.desk.control(commandId, says(`x.${'y'.repeat(5_000)}\0`, Number.MAX_SAFE_INTEGER));
  t.equal(status, 200);
  const open = await asked(here, commandId);
  t.equal(open?.tool.length, 200);
  t.ok(Date.parse(open?.since ?? ''), open?.since ?? '');
  t.equal((await here.desk.control(commandId, says(TOOL, -1))).status, 400);
});

t.test('how soon to look again is measured by a person', async (t) => {
  const here = await connectedSite();
  const commandId = await startedRun(here);
  const advice = async () => (await read(here.site, here.agent, commandId)).check_after_seconds;
  await here.desk.control(commandId, says(TOOL));
  t.equal(await advice(), 30);
  await here.site.clock.advance(600 * SECOND);
  t.equal(await advice(), 150);
  await here.desk.control(commandId, says('web.fetch', 4_200 * SECOND));
  t.equal(await advice(), 300, 'a change must not go unnoticed for long');
});
