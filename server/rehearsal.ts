/**
 * One imaginary run through a throw-away relay, before the real one listens.
 *
 * The first call after a start would otherwise pay for compiling everything on its way (30-80 ms on two cores). No
 * network and no disk; what it does is thrown away.
 */
import { TRPC_PATH } from '../protocol/api.ts';
import { createMemoryState } from '../protocol/host/state/memory-state.ts';
import { graphSessionId } from '../protocol/ids.ts';
import type { Log, Ports } from '../protocol/ports.ts';
import type { CompleteInput, ControlInput, SharedSession, SyncInput } from '../protocol/schemas.ts';
import { createRelay, type Relay } from './relay.ts';
import type { RelayTables } from './rows.ts';

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
const PROJECT = 'rehearsal';
const ORIGIN = 'http://rehearsal.invalid';

export async function rehearseServer(real: Ports): Promise<void> {
  const ports: Ports = { ...real, log: SILENT };
  const { ids } = ports;
  const relay = createRelay({ ports, store: createMemoryState<RelayTables>() });
  const agent = await relay.access.createToken({ kind: 'agent', name: 'rehearsal', projects: [PROJECT] });
  const desktop = await relay.access.createToken({ kind: 'desktop', name: 'rehearsal' });
  const asDesktop = <Input>(call: string, input: Input) =>
    post(relay, `${TRPC_PATH}/relay.${call}`, desktop.token, input);
  const asAgent = (tool: string, args: object) => callTool(relay, agent.token, { name: tool, arguments: args });

  const session: SharedSession = {
    graph_session_id: graphSessionId(ids.hex(16)),
    name: 'Rehearsal',
    description: '',
    slug: 'rehearsal',
    version: 1,
    status: 'ready',
  };
  const sync: SyncInput = {
    instance_id: ids.uuid(),
    projects: [{ project_id: PROJECT, sessions: [session] }],
    holding: [],
    capacity: 1,
    hold_ms: 0,
  };
  await asDesktop('sync', sync);
  const held = asDesktop('sync', { ...sync, hold_ms: 5_000 });
  await asAgent('list_graph_sessions', {});
  const { graph_session_id } = session;
  await asAgent('run_graph_session', { graph_session_id, idempotency_key: ids.uuid(), arguments: {} });
  const { commands } = (await held).result.data as { commands: { command_id: string }[] };
  const run = { command_id: commands[0]?.command_id ?? '', execution_id: ids.uuid() };
  await asDesktop<ControlInput>('control', { ...run, phase: 'starting', epoch: 1, hold_ms: 0 });
  const control = asDesktop<ControlInput>('control', { ...run, phase: 'running', epoch: 1, hold_ms: 5_000 });
  const waiting = asAgent('get_graph_run', { command_id: run.command_id, wait_seconds: 5 });
  await asDesktop<CompleteInput>('complete', { ...run, status: 'completed', result: { ok: true }, total_tokens: 0 });
  await Promise.all([control, waiting]);
  await relay.drain();
}

async function post(relay: Relay, path: string, token: string, body: unknown) {
  const text = JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    accept: 'application/json, text/event-stream',
  };
  const response = await relay.fetch(new Request(ORIGIN + path, { method: 'POST', headers, body: text }));
  const answer = await response.text();
  return response.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(answer) : null;
}

function callTool(relay: Relay, token: string, params: object): Promise<unknown> {
  return post(relay, '/mcp', token, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
}
