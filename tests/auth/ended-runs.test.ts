/** What becomes of an agent's runs when it is removed, and that nobody learns which runs there are. */
import t from 'tap';
import { TRPC_PATH } from '../../protocol/api.ts';
import { RUN_NOT_FOUND } from '../../protocol/texts.ts';
import { call, connect, newOwner, openSite, rpc, type Site } from './support.ts';

const SESSION = 'gs_0123456789abcdef0123456789abcdef';
const INSTANCE = '11111111-1111-4111-8111-111111111111';

/** Calls of one desktop, by hand. */
async function newDesktop(site: Site) {
  const { token } = await site.relay.access.createToken({ kind: 'desktop', name: 'pc' });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  // biome-ignore lint/suspicious/noExplicitAny: answers of several calls.
  const ask = async (name: string, input: object): Promise<any> => {
    const response = await call(site, `${TRPC_PATH}/relay.${name}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(input),
    });
    return ((await response.json()) as { result: { data: unknown } }).result.data;
  };
  const names = { name: 'Hello', description: '', slug: 'hello', version: 1, status: 'ready' };
  const projects = [{ project_id: 'home', sessions: [{ graph_session_id: SESSION, ...names }] }];
  const sync = (capacity: number) =>
    ask('sync', { instance_id: INSTANCE, projects, holding: [], capacity, hold_ms: 0 });
  await sync(0);
  return { ask, sync };
}

// biome-ignore lint/suspicious/noExplicitAny: results of several tools.
async function tool(site: Site, token: string, [name, args]: readonly [string, object]): Promise<any> {
  const response = await rpc(site, { token, method: 'tools/call', params: { name, arguments: args } });
  return ((await response.json()) as { result: unknown }).result;
}

async function start(site: Site, token: string, key: string): Promise<string> {
  const args = { graph_session_id: SESSION, idempotency_key: key, arguments: {} };
  return (await tool(site, token, ['run_graph_session', args])).structuredContent.command_id;
}

for (const how of ['removed by the owner', 'its token was revoked'] as const) {
  t.test(`an agent that is gone (${how}) leaves nothing behind that starts or goes on unasked`, async (t) => {
    const site = await openSite(t);
    const owner = await newOwner(site);
    const made = await site.relay.access.createToken({ kind: 'agent', name: 'cli', projects: ['home'] });
    const byLogin = (await connect(site, owner)).tokens.access_token;
    const desktop = await newDesktop(site);
    const [gone, stays] = how === 'removed by the owner' ? [byLogin, made.token] : [made.token, byLogin];
    const running = await start(site, gone, 'key-running');
    const [offered] = (await desktop.sync(1)).commands;
    t.equal(offered.command_id, running);
    const control = { command_id: running, execution_id: INSTANCE, epoch: 1, hold_ms: 0 };
    t.match(await desktop.ask('control', { ...control, phase: 'starting' }), { cancel: false });
    const waiting = await start(site, gone, 'key-waiting');
    const others = await start(site, stays, 'key-of-another');

    if (how === 'its token was revoked') await site.relay.access.revokeToken('cli');
    else await owner.send(await owner.open('/owner'), site.authorization.connections.list('agent')[0]!.connectionId);

    const row = (id: string) => site.store.rows('command').get(id);
    t.match(row(waiting), { status: 'cancelled' }, 'what waited is not started');
    t.match(row(running), { status: 'running', cancelRequestedAt: Number }, 'what goes on is asked to stop');
    t.match(await desktop.ask('control', { ...control, phase: 'running' }), { cancel: true });
    t.same(
      (await desktop.sync(5)).commands.map((each: { command_id: string }) => each.command_id),
      [others],
    );
    t.match(row(others), { status: 'offered' }, "another agent's run is not touched");
    t.ok(site.lines.some(({ event, fields }) => event === 'agent.runs-ended' && fields.runs === 2));
  });
}

t.test("another agent's run, an unknown one and a removed one are one answer, by one way", async (t) => {
  const site = await openSite(t);
  const owner = await newOwner(site);
  const one = (await connect(site, owner, { name: 'one' })).tokens.access_token;
  const two = (await connect(site, owner, { name: 'two' })).tokens.access_token;
  const desktop = await newDesktop(site);
  const commandId = await start(site, one, 'key-12345');
  await desktop.sync(1);
  const control = { command_id: commandId, execution_id: INSTANCE, epoch: 1, hold_ms: 0, phase: 'starting' };
  await desktop.ask('control', control);
  const end = {
    command_id: commandId,
    execution_id: INSTANCE,
    status: 'completed',
    result: { secret: 1 },
    total_tokens: 0,
  };
  await desktop.ask('complete', end);
  let reads = 0;
  const { readFrozen, synced } = site.store;
  site.store.readFrozen = (id) => {
    reads++;
    return readFrozen.call(site.store, id);
  };
  site.store.synced = () => {
    reads++;
    return synced.call(site.store);
  };
  const unknown = '22222222-2222-4222-8222-222222222222';
  for (const name of ['get_graph_run', 'cancel_graph_run']) {
    const answers = [commandId, unknown].map((command_id) => tool(site, two, [name, { command_id }]));
    const [foreign, never] = await Promise.all(answers);
    t.same(foreign, never, `${name}: letter by letter`);
    t.match(foreign, { isError: true, content: [{ text: RUN_NOT_FOUND }] });
  }
  t.equal(reads, 0, 'neither waits for the disk, so neither takes longer');
  t.match(await tool(site, one, ['get_graph_run', { command_id: commandId }]), {
    structuredContent: { status: 'completed' },
  });
  t.ok(reads > 0, 'a run that is there is read');
});
