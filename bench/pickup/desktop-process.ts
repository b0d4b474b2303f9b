/**
 * A production desktop whose Graphs end at once: durable journal and outbox, real HTTP, and a note of the instant at
 * which the engine was told to start. With a sandbox the engine is the production one too, and the instant is that of the
 * first statement of the Graph.
 */
import { createAgent } from '../../desktop-agent/agent.ts';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { createHttpClient } from '../../desktop-agent/dialer/http-client.ts';
import { openSocket } from '../../desktop-agent/dialer/open-socket.ts';
import { createEngine } from '../../desktop-agent/engine/engine.ts';
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
  /** Run real Graphs, each in a sandbox that was started before or that is started for it. */
  readonly sandbox?: 'warm' | 'cold';
}

export interface DesktopReady {
  /** The one Graph session that it shares. */
  readonly session: string;
}

const { url, token, directory, project, mode, slots, sandbox } = JSON.parse(process.argv[2] ?? '{}') as DesktopTask;
const log: Log = { debug() {}, info() {}, warn() {}, error() {} };
const ports: Ports = { clock: systemClock, random: systemRandom, ids: systemIds, log };

const session = benchSession(systemIds);
const library: GraphLibrary = {
  list: () => [session],
  load: async () => ({
    name: session.file_name,
    source: "export const meta = { name: 'Bench' }; log('first'); return 1;",
  }),
};
const outcome: RunOutcome = {
  status: 'completed',
  resultJson: '"done"',
  error: null,
  totalTokens: 0,
  reportedCost: null,
};
const instantEngine: Engine = {
  start(run) {
    take(run.args as unknown as Job);
    return { done: Promise.resolve(outcome), cancel() {} };
  },
  close: async () => {},
};

function sandboxedEngine(keepWarm: boolean): Engine {
  const provider = { ask: async () => ({ text: '', tokens: 0 }) };
  const engine = createEngine({ ports, provider, keepWarm });
  return {
    start(run) {
      const onEvent: typeof run.onEvent = (event) => {
        if (event.type === 'log') take(run.args as unknown as Job);
        run.onEvent(event);
      };
      const { done, cancel } = engine.start({ ...run, onEvent });
      // The caller hears of the end when the next run finds a warm sandbox again.
      return { done: done.then((end) => engine.warmedUp().then(() => end)), cancel };
    },
    close: () => engine.close(),
  };
}

const engine = sandbox === undefined ? instantEngine : sandboxedEngine(sandbox === 'warm');

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
