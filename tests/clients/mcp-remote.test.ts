import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import t, { type Test } from 'tap';
import manifest from '../../package.json' with { type: 'json' };
import { commandOf, newSeat, type Seat } from './programs.ts';
import { allowAsOwner, type InUse, testClient, use } from './shared-graph.ts';
import { TRIED } from './tried.ts';

/** A client that only knows stdio, with mcp-remote as its server; what mcp-remote says to its user is in `said`. */
async function connect(t: Test, { home, env }: Seat, args: readonly string[]) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [commandOf(TRIED.mcpRemote, 'mcp-remote'), ...args],
    env: { ...env },
    cwd: home,
    stderr: 'pipe',
  });
  const said = { stdout: '', stderr: '', isOver: false };
  transport.stderr?.on('data', (text: Buffer) => {
    said.stderr += String(text);
  });
  const client = new Client({ name: 'stdio only', version: '1' });
  t.teardown(() => client.close());
  await client.connect(transport);
  return { client, said };
}

function inUse(client: Client): InUse {
  return {
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async <Answer>(tool: string, args: Record<string, unknown>) =>
      (await client.callTool({ name: tool, arguments: args })).structuredContent as Answer,
  };
}

testClient(t, TRIED.mcpRemote, (t, shared) => {
  t.test('a client behind mcp-remote with a token lists, runs and reads', async (t) => {
    const seat = await newSeat(t);
    const header = ['--header', `Authorization:Bearer ${shared.token}`];
    const { client } = await connect(t, seat, [shared.mcp, ...header]);
    t.match(client.getServerVersion(), { name: 'graph-relay', version: manifest.version });
    await use(t, shared, inUse(client));
    t.same(seat.wantedOutside, []);
  });

  t.test('mcp-remote logs in at the first tool call, which is answered after it', async (t) => {
    const seat = await newSeat(t);
    const { client, said } = await connect(t, seat, [shared.mcp, '--auth-timeout', '300']);
    const first = client.callTool({ name: 'list_graph_sessions', arguments: {} });
    t.match((await allowAsOwner(shared, said)).text, /MCP CLI Proxy/, 'the owner is told who asks');
    t.match((await first).structuredContent, { project_id: 'home' });
    await use(t, shared, inUse(client));
    t.same(seat.wantedOutside, []);
  });
});
