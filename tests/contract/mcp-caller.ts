/** A plain MCP client of the 2025 era before a relay in virtual time: no progress token, no session. */
import type { TestRelay } from './support.ts';

export interface ToolAnswer {
  /** The whole body as it came. */
  readonly body: string;
  readonly isError: boolean;
  /** The text that a model reads. */
  readonly text: string;
  /** What the Graph returned, as the text that follows it. */
  readonly resultText: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes.
  readonly data: any;
  /** Virtual milliseconds from the call to the whole answer. */
  readonly tookMs: number;
}

export async function callTool(world: TestRelay, name: string, args: object): Promise<ToolAnswer> {
  const before = world.clock.monotonic();
  const request = new Request('http://relay.test/mcp', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${world.agentToken}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
  const body = await world.settle(world.relay.fetch(request).then((response) => response.text()));
  const json = body.startsWith('{') ? body : /^data: (\{.*)$/m.exec(body)![1]!;
  const { result } = JSON.parse(json);
  const { isError = false, structuredContent: data, content } = result;
  return {
    body,
    isError,
    text: content[0].text,
    resultText: content[1]?.text,
    data,
    tookMs: world.clock.monotonic() - before,
  };
}
