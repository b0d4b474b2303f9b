/**
 * The relay that `kill-rounds.test.ts` kills: durable state, a fixed port, and a caller that is told what to do over
 * IPC. It loads everything first and opens nothing before it is told to, so that a round costs no start-up.
 */
import { openProcessState } from '../../protocol/host/process.ts';
import { systemClock, systemIds, systemRandom } from '../../protocol/host/system-ports.ts';
import type { Log } from '../../protocol/ports.ts';
import { listenHttp } from '../../server/http-server.ts';
import { createRelay } from '../../server/relay.ts';
import { RELAY_TABLES, type RelayTables } from '../../server/rows.ts';
import { handleUpgrades } from '../../server/upgrades.ts';
import type { RelayOrder, RelayReport } from './killable.ts';
import { PROJECT } from './one-graph.ts';

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
const say = (report: RelayReport) => process.send?.(report);
let relay: ReturnType<typeof createRelay>;
let callerToken = '';

async function open(order: RelayOrder & { type: 'open' }): Promise<void> {
  const options = { directory: order.directory, tables: RELAY_TABLES, log: SILENT, clock: systemClock };
  const store = await openProcessState<RelayTables>(options);
  relay = createRelay({ ports: { clock: systemClock, random: systemRandom, ids: systemIds, log: SILENT }, store });
  const { server } = await listenHttp(relay.fetch, { host: '127.0.0.1', port: order.port });
  handleUpgrades(server, { desktopOf: relay.access.desktopOf, draining: relay.draining, accept: relay.acceptSocket });
  const { access } = relay;
  const made = order.tokens ?? {
    caller: (await access.createToken({ kind: 'agent', name: 'caller', projects: [PROJECT] })).token,
    desktop: (await access.createToken({ kind: 'desktop', name: 'desktop' })).token,
  };
  callerToken = made.caller;
  say({ type: 'open', tokens: made });
}

async function answer(order: RelayOrder): Promise<void> {
  if (order.type === 'open') return open(order);
  const caller = relay.access.agentOf(callerToken)!;
  if (order.type === 'read') {
    const signal = new AbortController().signal;
    const run = await relay.agents.getRun(caller, { command_id: order.commandId, waitMs: 0, signal });
    say({ type: 'read', commandId: order.commandId, status: run.status, result: run.result, error: run.error });
    return;
  }
  const { key, sessionId } = order;
  const request = { graph_session_id: sessionId, arguments: { key }, idempotency_key: key };
  // Before the desktop has shared its session for the first time, there is nothing to queue for.
  const ticket = await relay.agents.runSession(caller, request).catch(() => null);
  if (ticket !== null) say({ type: 'ticket', key, commandId: ticket.command_id, replayed: ticket.replayed });
  else say({ type: 'refused', key });
}

process.on('message', (order: RelayOrder) => void answer(order));
process.on('disconnect', () => process.exit());
say({ type: 'loaded' });
