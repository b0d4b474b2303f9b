/**
 * Ours as a subject: the production relay as a process, a production desktop as a process, and an MCP client as thin as
 * the floor's. Durable on both sides; the whole way, from the tool call over offer, ack, permission and journal.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ModeName } from '../../desktop-agent/modes.ts';
import { localClient } from '../../protocol/host/local-calls.ts';
import { siblingModule } from '../../protocol/host/sibling-module.ts';
import type { RunTicket, RunView } from '../../server/agent-api.ts';
import type { RelayLocalRouter } from '../../server/local-api.ts';
import { startChild } from '../start/child.ts';
import { Arrivals } from './arrivals.ts';
import type { DesktopReady, DesktopTask } from './desktop-process.ts';
import { type Post, poster } from './http-caller.ts';
import { stampUs } from './stamp.ts';
import { payloadOf, type Subject } from './subject.ts';
import { startWorker } from './worker.ts';

export const OUR_NAME = 'graph-relay';
const PROJECT = 'pickup';
/** Longest that the relay grants; a run of nothing is over long before. */
const WAIT_SECONDS = 50;

/**
 * `slots`: how many runs the desktop does at once. Its Graphs end at once; with `sandbox` they are real ones, and a job is
 * picked when the first statement of its Graph runs.
 */
export async function startRelay(mode: ModeName, slots: number, sandbox?: DesktopTask['sandbox']): Promise<Subject> {
  const data = await mkdtemp(join(tmpdir(), 'graph-relay-pickup-'));
  const connected = Promise.withResolvers<void>();
  const server = await startChild({
    name: 'relay',
    // One agent asks as fast as it can: what it meets is to be the relay's speed.
    args: ['server', '--port', '0', '--data', data, '--requests-per-agent', '0', '--requests-per-desktop', '0'],
    logFile: join(data, 'server.log'),
    onLine: ({ event }) => event === 'desktop.connected' && connected.resolve(),
  });
  const url = new URL(server.ready.url ?? '');
  const admin = localClient<RelayLocalRouter>(join(data, 'server'));
  const agent = await admin.createToken.mutate({ kind: 'agent', name: 'pickup', projects: [PROJECT] });
  const { token } = await admin.createToken.mutate({ kind: 'desktop', name: 'pickup', projects: [] });
  const about = { url: url.href, token, directory: join(data, 'desktop'), project: PROJECT, mode, slots };
  const task: DesktopTask = sandbox === undefined ? about : { ...about, sandbox };
  const module = siblingModule('./desktop-process', import.meta.url);
  const desktop = await startWorker<DesktopReady>('desktop', module, [JSON.stringify(task)]);
  const tickets = new Arrivals<string>();
  const onBroken = (error: Error) => {
    tickets.fail(error);
    connected.reject(error);
  };
  desktop.onGone(onBroken);
  void server.ended.then((reason) => onBroken(new Error(`The relay ended: ${reason}`)));
  await connected.promise;
  const call = caller(poster({ host: url.hostname, port: Number(url.port) }), agent.token);
  return {
    name: OUR_NAME,
    setting: mode,
    durable: true,
    versions: { node: process.versions.node },
    resultBy: 'get_graph_run with wait_seconds',
    async enqueue(job) {
      const run = { graph_session_id: desktop.ready.session, arguments: payloadOf(job), idempotency_key: job.id };
      const ticket = await call<RunTicket>('run_graph_session', run);
      tickets.arrived(job.id, ticket.command_id);
    },
    picked: (id) => desktop.picks.wait(id),
    async done(id) {
      const command_id = await tickets.wait(id);
      for (;;) {
        const { status, error } = await call<RunView>('get_graph_run', { command_id, wait_seconds: WAIT_SECONDS });
        if (status === 'completed') return stampUs();
        if (status !== 'queued' && status !== 'running') throw new Error(`The run ended as ${status}: ${error}`);
      }
    },
    async stop() {
      await desktop.stop();
      await server.stop();
      await rm(data, { recursive: true, force: true });
    },
  };
}

interface ToolAnswer {
  readonly result?: { readonly isError?: boolean; readonly structuredContent?: unknown };
}

/** Calls a tool and reads its answer, which is JSON or, when it was waited for, one event of a stream. */
function caller(post: Post, token: string) {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' };
  return async <Answer>(name: string, args: object): Promise<Answer> => {
    const params = { name, arguments: args };
    const text = await post('/mcp', headers, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const json = text.startsWith('{') ? text : (/^data: (\{.*)$/m.exec(text)?.[1] ?? '{}');
    const { result } = JSON.parse(json) as ToolAnswer;
    if (result?.structuredContent === undefined || result.isError) throw new Error(`${name} was refused: ${text}`);
    return result.structuredContent as Answer;
  };
}
