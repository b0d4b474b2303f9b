/**
 * A production desktop whose Graphs end at once: durable journal and outbox, real HTTP, and a note of the instant at
 * which the engine was told to start.
 */
import { createAgent } from '../../desktop-agent/agent.ts';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { createHttpClient } from '../../desktop-agent/dialer/http-client.ts';
import { openSocket } from '../../desktop-agent/dialer/open-socket.ts';
import type { GraphLibrary, LocalSession } from '../../desktop-agent/graph-library.ts';
import type { ModeName } from '../../desktop-agent/modes.ts';
import type { Engine, RunOutcome } from '../../desktop-agent/ports.ts';
import { rehearseDesktop } from '../../desktop-agent/rehearsal.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { openProcessState } from '../../protocol/host/process.ts';
import { systemClock, systemIds, systemRandom } from '../../protocol/host/system-ports.ts';
import { graphSessionId } from '../../protocol/ids.ts';
import type { Log, Ports } from '../../protocol/ports.ts';
import { stampUs } from './stamp.ts';

const [url = '', token = '', directory = '', project = '', modeName = 'long-poll'] = process.argv.slice(2);
const mode = modeName as ModeName;
const log: Log = { debug() {}, info() {}, warn() {}, error() {} };
const ports: Ports = { clock: systemClock, random: systemRandom, ids: systemIds, log };

const session: LocalSession = {
  graph_session_id: graphSessionId(systemIds.hex(16)),
  name: 'Pickup',
  description: '',
  slug: 'pickup',
  version: 1,
  status: 'ready',
  file_name: 'pickup.js',
  problem: null,
};
const library: GraphLibrary = {
  list: () => [session],
  load: async () => ({ name: session.file_name, source: '' }),
};
const outcome: RunOutcome = {
  status: 'completed',
  resultJson: '"done"',
  error: null,
  totalTokens: 0,
  reportedCost: null,
};
const engine: Engine = {
  start(run) {
    process.send?.({ id: run.args.id, atUs: stampUs() });
    return { done: Promise.resolve(outcome), cancel() {} };
  },
  close: async () => {},
};

await rehearseDesktop(ports);
const store = await openProcessState<DesktopTables>({ directory, tables: DESKTOP_TABLES, log, clock: systemClock });
const dialers = createDialers({
  url,
  token: () => token,
  clock: systemClock,
  ...createHttpClient({ clock: systemClock, environment: process.env }),
  open: openSocket,
});
const agent = createAgent({ ports, dialers, store, engine, library, mode });
await agent.sharing.share(project, session.graph_session_id);
process.once('disconnect', () => {
  void agent
    .drain(0)
    .then(() => store.close())
    .then(() => process.exit());
});
process.send?.({ session: session.graph_session_id });
await agent.run();
