/** The official MCP client's own OAuth flow, against the relay on a real port; the test plays the browser. */
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import { listenHttp } from '../../server/http-server.ts';
import { ERAS, MODERN_VERSION } from '../mcp/fixtures.ts';
import { Keeper } from './keeper.ts';
import { type Browser, newOwner, openSite, type Site } from './support.ts';

/** The relay on a port: its address is known only then, so its routes are opened anew. */
async function listen(t: Test): Promise<{ site: Site; browser: Browser }> {
  const site = await openSite(t);
  const { server, url } = await listenHttp(site.relay.fetch, { host: '127.0.0.1', port: 0 });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await site.authorization.open(url);
  const listening = { ...site, url };
  return { site: listening, browser: await newOwner(listening) };
}

const PATHS = ['/mcp', '/mcp/', '/mcp?auth=required', '/api/v1/external-mcp'];

for (const [era, path] of ERAS.flatMap((era) => PATHS.map((path) => [era, path] as const))) {
  t.test(
    `the official client of ${era} registers, is allowed, lists and calls at ${path}, and refreshes by itself`,
    async (t) => {
      const { site, browser } = await listen(t);
      const keeper = new Keeper();
      const address = new URL(site.url + path);
      const connectOnce = async () => {
        const transport = new StreamableHTTPClientTransport(address, { authProvider: keeper });
        const mode = era === '2026' ? { pin: MODERN_VERSION } : 'legacy';
        const client = new Client({ name: 'official', version: '1' }, { versionNegotiation: { mode } });
        await client.connect(transport);
        return { client, transport };
      };
      const needsLogin = async () => {
        const { client } = await connectOnce();
        await client.callTool({ name: 'list_graph_sessions', arguments: {} });
      };
      await t.rejects(needsLogin(), UnauthorizedError);
      t.ok(keeper.sentTo, 'its user was sent to the relay');
      t.equal(keeper.sentTo!.origin, site.url);

      const asked = await browser.open(keeper.sentTo!.href);
      t.match(asked.text, /Connect Official\?/);
      const landed = await browser.send(asked, 'allow', { new_project: 'home' });
      const finishing = new StreamableHTTPClientTransport(address, { authProvider: keeper });
      await finishing.finishAuth(landed.url.searchParams);

      const { client } = await connectOnce();
      t.equal((await client.listTools()).tools.length, 4);
      const called = await client.callTool({ name: 'list_graph_sessions', arguments: {} });
      t.match(called.structuredContent, { project_id: 'home', sessions: [] });

      const before = keeper.saved!;
      site.clock.skewMs += 61 * 60_000;
      const later = await client.callTool({ name: 'list_graph_sessions', arguments: {} });
      t.match(later.structuredContent, { project_id: 'home' }, 'an hour later it renewed its token');
      t.not(keeper.saved!.access_token, before.access_token);
      await client.close();
    },
  );
}
