/**
 * A tool server of the newer protocol only, by the official library: over standard input and output when it is run, over
 * HTTP when a test takes its factory.
 */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

export function modernServer(): McpServer {
  const server = new McpServer(
    { name: 'modern', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, async ({ a, b }) => ({
    content: [{ type: 'text', text: String(a + b) }],
  }));
  server.registerTool('grow', { inputSchema: z.object({}) }, async () => {
    server.registerTool('grown', { inputSchema: z.object({}) }, async () => ({
      content: [{ type: 'text', text: 'new' }],
    }));
    return { content: [{ type: 'text', text: 'grew' }] };
  });
  return server;
}

if (process.argv[1] === import.meta.filename) {
  serveStdio(modernServer, { legacy: process.argv.includes('both') ? 'serve' : 'reject' });
}
