/** The relay's log: one line for each step, with ids and durations, and never with what people sent. */
import t from 'tap';
import { cancel, connectedSite, newAgent, queue, type Site, startedRun } from './support.ts';

const ARGUMENT = 'argument-nobody-may-see';
const RESULT = 'result-nobody-may-see';

function events(site: Site, commandId: string): string[] {
  return site.lines.filter(({ fields }) => fields.command_id === commandId).map(({ event }) => event);
}

t.test('each step of a run leaves one line, with ids and durations', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await site.clock.advance(2_000);
  await desk.sync();
  await desk.control(command_id);
  await site.clock.advance(3_000);
  await desk.complete(command_id, { result: 1, total_tokens: 7 });
  t.same(events(site, command_id), ['command.queued', 'command.offered', 'command.started', 'command.ended']);
  const fieldsOf = (event: string) => site.lines.find((line) => line.event === event)?.fields;
  t.match(fieldsOf('command.queued'), { agent_id: agent.agentId, desktop_id: desk.desktopId, project_id: 'home' });
  t.match(fieldsOf('command.started'), { pickup_ms: 2_000, transport: 'long-poll' });
  t.match(fieldsOf('command.ended'), { status: 'completed', run_ms: 3_000, total_tokens: 7 });
});

t.test('a lost offer and a cancel can be read in the log', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await queue(site, agent).then(({ command_id }) => command_id);
  await desk.sync();
  await desk.sync();
  await desk.control(commandId);
  await cancel(site, agent, commandId);
  const steps = ['queued', 'offered', 'returned', 'offered', 'started', 'cancel-asked'];
  t.same(
    events(site, commandId),
    steps.map((step) => `command.${step}`),
  );
});

t.test('no token, argument, result, key or error text of a run is in the log', async (t) => {
  const { site, agent, desk, agentToken } = await connectedSite();
  const { token } = await newAgent(site, 'second');
  await queue(site, agent, { arguments: { secret: ARGUMENT }, idempotency_key: 'key-nobody-may-see' });
  const first = await startedRun({ site, agent, desk });
  await desk.complete(first, { result: RESULT });
  const second = await startedRun({ site, agent, desk });
  await desk.complete(second, { status: 'failed', error: `broke over ${ARGUMENT}` });
  await desk.complete(second, { status: 'weird' as never, result: RESULT });
  await site.clock.settle(site.relay.access.revokeToken('second'));
  await site.relay.fetch(
    new Request('http://relay.test/trpc/relay.sync', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ arguments: ARGUMENT }),
    }),
  );
  const log = JSON.stringify(site.lines);
  t.ok(site.lines.length > 5);
  for (const secret of [ARGUMENT, RESULT, 'nobody-may-see', desk.token, agentToken, token]) {
    t.notOk(log.includes(secret), secret);
  }
});
