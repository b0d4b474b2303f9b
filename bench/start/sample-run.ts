/** One run through the official MCP client over Streamable HTTP, as any client would do it. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { RunTicket, RunView, SessionList } from '../../server/agent-api.ts';

export interface SampleRun {
  readonly session: string;
  readonly run: RunView;
  /** Tool calls that the client made, the listing included. */
  readonly calls: number;
  /** From the start call until its ticket was there, in milliseconds, as the client saw it. */
  readonly ticket_ms: number;
  /** From the start call until the result was there, in milliseconds, as the client saw it. */
  readonly total_ms: number;
}

/** One wait of get_graph_run, in seconds. */
const WAIT_SECONDS = 20;

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'expired', 'lost']);

export async function runSample(options: {
  url: string;
  token: string;
  slug: string;
  args: Record<string, unknown>;
  idempotencyKey: string;
  /** Milliseconds, monotonic. */
  monotonic: () => number;
}): Promise<SampleRun> {
  const client = new Client({ name: 'graph-relay-start', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', options.url), {
    authProvider: { token: async () => options.token },
  });
  await client.connect(transport);
  let calls = 0;
  const call = async <Answer>(name: string, args: Record<string, unknown>): Promise<Answer> => {
    calls++;
    const { structuredContent, content, isError } = await client.callTool({ name, arguments: args });
    if (isError) throw new Error(`${name}: ${textOf(content)}`);
    return structuredContent as Answer;
  };
  try {
    const { sessions } = await call<SessionList>('list_graph_sessions', {});
    const session = sessions.find(({ slug }) => slug === options.slug);
    if (session === undefined) throw new Error(`list_graph_sessions does not show "${options.slug}"`);
    const started = options.monotonic();
    const ticket = await call<RunTicket>('run_graph_session', {
      graph_session_id: session.graph_session_id,
      arguments: options.args,
      idempotency_key: options.idempotencyKey,
    });
    const ticketMs = options.monotonic() - started;
    let run: RunView = ticket;
    while (!ENDED.has(run.status)) {
      run = await call<RunView>('get_graph_run', { command_id: ticket.command_id, wait_seconds: WAIT_SECONDS });
    }
    const round = (ms: number) => Math.round(ms * 10) / 10;
    return {
      session: session.name,
      run,
      calls,
      ticket_ms: round(ticketMs),
      total_ms: round(options.monotonic() - started),
    };
  } finally {
    await client.close();
  }
}

function textOf(content: unknown): string {
  const [first] = Array.isArray(content) ? content : [];
  return first?.type === 'text' ? first.text : 'no text';
}
