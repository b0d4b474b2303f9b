/**
 * The tools of the conformance suite's own server, played by the relay's.
 *
 * The suite calls tools by names that a server of its own has. Where such a tool is of a kind that the relay has too, the
 * call is made to that one. Owns which is played by which, and the Graphs for it. Must play nothing that the relay cannot
 * do: a check that needs such a tool has no success to show.
 */
import { systemIds } from '../../protocol/host/system-ports.ts';
import { graphSource, McpCaller, shareOnline, writeGraph } from '../process/relay-world.ts';
import { until } from '../process/support.ts';
import type { Play, ToolCall } from './add-token.ts';
import type { SharedGraph } from './shared-graph.ts';

/** A Graph has no clock: what takes long waits for an agent that never answers, the rest is over at once. */
const SLOW = `
if (args.seconds >= 10) await agent('Wait.');
return { label: args.label };`;

export async function playTools(shared: SharedGraph): Promise<Play> {
  const slow = await share(shared, 'slow-compute', SLOW);
  const failing = await share(shared, 'failing-job', "throw new Error('This Graph always fails.');");
  const run = (session: string, input: ToolCall['arguments'] = {}): ToolCall => ({
    name: 'run_graph_session',
    arguments: { graph_session_id: session, arguments: input, idempotency_key: systemIds.uuid() },
  });
  const list: ToolCall = { name: 'list_graph_sessions', arguments: {} };
  const played: Readonly<Record<string, (call: ToolCall) => ToolCall>> = {
    // Tools that answer at once, in text.
    greet: () => list,
    test_simple_text: () => list,
    // A tool that refuses.
    test_error_handling: () => ({ name: 'get_graph_run', arguments: { command_id: systemIds.uuid() } }),
    // Tools that become tasks.
    slow_compute: (call) => run(slow, call.arguments),
    failing_job: () => run(failing),
  };
  return (call) => played[call.name]?.(call) ?? call;
}

/** Resolves when the relay knows it. */
async function share({ data, relayUrl, token }: SharedGraph, name: string, body: string): Promise<string> {
  await writeGraph(data, `${name}.js`, graphSource(name, body));
  const id = await shareOnline(data, `${name}.js`);
  const agent = new McpCaller(relayUrl, token);
  return until(`${name} to be shared`, async () => {
    const { sessions } = await agent.sessions();
    return sessions.find(({ graph_session_id, status }) => graph_session_id === id && status === 'ready')
      ?.graph_session_id;
  });
}
