/** A session that says which arguments it takes: callers see it, and what does not fit never waits in the queue. */
import t from 'tap';
import { AgentError } from '../../server/agent-api.ts';
import { connectedSite, PROJECT, runRequest, session } from './support.ts';

const SCHEMA = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] };

async function sharing(arguments_schema: Record<string, unknown>) {
  const here = await connectedSite();
  const projects = [{ project_id: PROJECT, sessions: [session({ arguments_schema })] }];
  const synced = await here.desk.sync({ projects });
  return { ...here, synced, projects };
}

t.test('a list shows the schema', async (t) => {
  const { site, agent } = await sharing(SCHEMA);
  const list = await site.clock.settle(site.relay.agents.listSessions(agent, { project_id: undefined, limit: 50 }));
  t.same(list.sessions[0]?.arguments_schema, SCHEMA);
});

t.test('arguments that do not fit are refused with the place and where to look, and nothing is queued', async (t) => {
  const { site, agent, desk, projects } = await sharing(SCHEMA);
  const unfit = site.relay.agents.runSession(agent, runRequest({ arguments: { to: 7 } }));
  const error = await site.clock.settle(unfit.catch((refusal) => refusal));
  t.type(error, AgentError);
  t.match(
    error.message,
    /^arguments\.to: .*"number".* Nothing was queued\. arguments_schema of gs_[0-9a-f]{32} in list_graph/,
  );
  t.same((await desk.sync({ projects })).data?.commands, []);
  const fits = await site.clock.settle(site.relay.agents.runSession(agent, runRequest({ arguments: { to: 'a' } })));
  t.equal(fits.status, 'queued', 'also with the same key: nothing stood for it');
});

t.test('a key that stands for a run is answered with it, though the schema has changed since', async (t) => {
  const { site, agent, desk } = await sharing({ type: 'object' });
  const request = runRequest({ arguments: { to: 7 } });
  const first = await site.clock.settle(site.relay.agents.runSession(agent, request));
  await desk.sync({ projects: [{ project_id: PROJECT, sessions: [session({ arguments_schema: SCHEMA })] }] });
  const again = await site.clock.settle(site.relay.agents.runSession(agent, request));
  t.equal(again.command_id, first.command_id);
});

t.test('a sync with a schema that cannot be used is refused as a whole, with the reason', async (t) => {
  for (const broken of [{ type: 'string' }, { type: 'object', properties: { a: { pattern: '(' } } }]) {
    const { synced } = await sharing(broken);
    t.equal(synced.status, 400);
    t.match(synced.error?.message, /arguments_schema/);
  }
});

t.test('a pattern that takes for ever holds up nobody: it is checked on the desktop alone', async (t) => {
  const properties = { to: { type: 'string', pattern: '^(a+)+$' } };
  const { site, agent, desk, projects } = await sharing({ type: 'object', properties });
  // Two to the power of sixty steps: whoever tried would not come back.
  const args = { to: `${'a'.repeat(60)}!` };
  const ticket = await site.clock.settle(site.relay.agents.runSession(agent, runRequest({ arguments: args })));
  t.equal(ticket.status, 'queued');
  t.match((await desk.sync({ projects })).data?.commands, [{ arguments: args }]);
});
