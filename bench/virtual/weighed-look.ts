/**
 * A look at a run through the endpoint's own tool call, so that what is counted is what goes out: words, data, and little
 * of either when nothing is new.
 *
 * Owns what counts as spent. Inputs are checked, answers are packed and remembered by production code.
 */
import { TOLD_RUNS } from '../../protocol/limits.ts';
import type { Log } from '../../protocol/ports.ts';
import type { AgentApi, RunView } from '../../server/agent-api.ts';
import { LastTold } from '../../server/mcp/last-told.ts';
import { callTool } from '../../server/mcp/tool-call.ts';
import { estimatedTokens } from '../tokens.ts';
import type { AskedWorld, Looked, Told } from './ask.ts';

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
const { signal } = new AbortController();

export function weighedLook(world: AskedWorld, ticket: RunView): (waitS: number) => Promise<Looked> {
  const told = new LastTold(TOLD_RUNS);
  // The ticket was the first thing that this client was told of its run.
  told.tell(ticket);
  const ports = { api: readingOnly(world), clock: world.clock, log: SILENT, told };
  return async (waitS) => {
    const { command_id } = ticket;
    const input = waitS > 0 ? { command_id, wait_seconds: waitS } : { command_id };
    const answer = await callTool(
      ports,
      { agent: world.caller, signal, onProgress: null },
      { name: 'get_graph_run', input },
    );
    const texts = answer.content.map((part) => (part.type === 'text' ? part.text : ''));
    if (answer.isError) throw new Error(`get_graph_run was refused: ${texts.join(' ')}`);
    const words = estimatedTokens(JSON.stringify(input)) + estimatedTokens(texts.join('\n'));
    const data = estimatedTokens(JSON.stringify(answer.structuredContent));
    return { told: answer.structuredContent as unknown as Told, tokens: { all: words + data, words } };
  };
}

/** The tool that is called reads, and needs nothing else. */
function readingOnly({ relay }: AskedWorld): AgentApi {
  const refuse = async () => {
    throw new Error('A client that looks at a run has called another tool.');
  };
  const getRun: AgentApi['getRun'] = (agent, request) => relay.agents.getRun(agent, request);
  return { getRun, listSessions: refuse, runSession: refuse, cancelRun: refuse };
}
