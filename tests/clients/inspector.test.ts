import t from 'tap';
import { ClientCommand, commandOf, finished, newSeat, type Seat } from './programs.ts';
import { allowAsOwner, type InUse, testClient, use } from './shared-graph.ts';
import { TRIED } from './tried.ts';

function inspector(seat: Seat): ClientCommand {
  return new ClientCommand(seat, [commandOf(TRIED.inspector, 'mcp-inspector'), '--cli']);
}

function inUse(command: ClientCommand, target: readonly string[]): InUse {
  const ask = async <Result>(args: readonly string[]) =>
    (await command.json<{ result: Result }>([...target, ...args, '--format', 'json', '--quiet'])).result;
  return {
    async toolNames() {
      const { tools } = await ask<{ tools: { name: string }[] }>(['--method', 'tools/list']);
      return tools.map(({ name }) => name);
    },
    async call<Answer>(tool: string, args: Record<string, unknown>) {
      const call = ['--method', 'tools/call', '--tool-name', tool, '--tool-args-json', JSON.stringify(args)];
      return (await ask<{ structuredContent: Answer }>(call)).structuredContent;
    },
  };
}

testClient(t, TRIED.inspector, (t, shared) => {
  const at = ['--server-url', shared.mcp, '--transport', 'http', '--connect-timeout', '0'];

  for (const era of ['legacy', 'modern']) {
    t.test(`the Inspector with a token lists, runs and reads in the ${era} era`, async (t) => {
      const seat = await newSeat(t);
      const header = ['--header', `Authorization: Bearer ${shared.token}`];
      await use(t, shared, inUse(inspector(seat), [...at, '--protocol-era', era, ...header]));
      t.same(seat.wantedOutside, []);
    });
  }

  t.test('the Inspector logs in where a tool needs it, and keeps its tokens for the calls that follow', async (t) => {
    const seat = await newSeat(t, { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' });
    const command = inspector(seat);
    const callback = ['--callback-url', 'http://127.0.0.1:0/oauth/callback'];
    const call = ['--method', 'tools/call', '--tool-name', 'list_graph_sessions', '--format', 'json'];
    const first = command.start([...at, ...callback, ...call]);
    const asked = await allowAsOwner(shared, first);
    t.match(asked.text, /Inspector/, 'the owner is told who asks');
    t.match(await finished(first, 'the first call'), { code: 0 });
    await use(t, shared, inUse(command, [...at, '--stored-auth-only']));
    t.same(seat.wantedOutside, []);
  });

  t.test('the Inspector has nothing to say about the schemas of the tools, also when it is strict', async (t) => {
    const command = inspector(await newSeat(t));
    const { code, stderr } = await command.run([...at, '--method', 'tools/list', '--strict']);
    t.equal(code, 0);
    t.notMatch(stderr, /tool "|warnings|errors/);
  });
});
