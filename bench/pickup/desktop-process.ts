/**
 * A production desktop whose Graphs end at once: durable journal and outbox, real HTTP, and a note of the instant at
 * which the engine was told to start.
 */
import { createAgent } from '../../desktop-agent/agent.ts';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { createHttpClient } from '../../desktop-agent/dialer/http-client.ts';
import { openSocket } from '../../desktop-agent/dialer/open-socket.ts';
import type { GraphLibrary } from '../../desktop-agent/graph-library.ts';
import type { ModeName } from '../../desktop-agent/modes.ts';
import type { Engine, RunOutcome } from '../../desktop-agent/ports.ts';
import { rehearseDesktop } from '../../desktop-agent/rehearsal.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { openProcessState } from '../../protocol/host/process.ts';
import { systemClock, systemIds, systemRandom } from '../../protocol/host/system-ports.ts';
import type { Log, Ports } from '../../protocol/ports.ts';
import { benchSession } from '../bench-session.ts';
import type { Job } from './subject.ts';
import { take, tell } from './worker-side.ts';

/** Its one argument, as JSON. */
export interface DesktopTask {
  readonly url: string;
  readonly token: string;
  readonly directory: string;
  readonly project: string;
  readonly mode: ModeName;
  readonly slots: number;
}

export interface DesktopReady {
  /** The one Graph session that it shares. */
  readonly session: string;
}

const { url, token, directory, project, mode, slots } = JSON.parse(process.argv[2] ?? '{}') as DesktopTask;
const log: Log = { debug() {}, info() {}, warn() {}, error() {} };
const ports: Ports = { clock: systemClock, random: systemRandom, ids: systemIds, log };

const session = benchSession(systemIds);
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
    take(run.args as unknown as Job);
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
const agent = createAgent({ ports, dialers, store, engine, library, mode, slots });
await agent.sharing.share(project, session.graph_session_id);
process.once('disconnect', () => {
  void agent
    .drain(0)
    .then(() => store.close())
    .then(() => process.exit());
});
tell({ ready: { session: session.graph_session_id } satisfies DesktopReady });
await agent.run();
