/**
 * Many production desktops in one process: each with a durable state, connections and a loop of its own, over real HTTP
 * or a real WebSocket. Their Graphs take the time that their arguments say.
 *
 * Owns the wiring. What is measured is kept here and told when somebody asks, so that nothing is told during a run.
 */
import { type Agent, createAgent } from '../../desktop-agent/agent.ts';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { createHttpClient } from '../../desktop-agent/dialer/http-client.ts';
import { openSocket } from '../../desktop-agent/dialer/open-socket.ts';
import type { Dialer } from '../../desktop-agent/ports.ts';
import { rehearseDesktop } from '../../desktop-agent/rehearsal.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import type { Dialers } from '../../desktop-agent/transports.ts';
import { openProcessState } from '../../protocol/host/process.ts';
import { systemClock, systemIds, systemRandom } from '../../protocol/host/system-ports.ts';
import type { Log, Ports, StateStore } from '../../protocol/ports.ts';
import { benchSession } from '../bench-session.ts';
import { stampUs } from '../pickup/stamp.ts';
import { createRunTable, type RunTable } from '../virtual/bench-engine.ts';
import { sleepFor } from '../virtual/sleep.ts';
import type { DesktopMark, DesktopsAnswer, DesktopsOrder, DesktopsQuestion } from './desktops-messages.ts';
import { sharedClock } from './shared-clock.ts';

const log: Log = { debug() {}, info() {}, warn() {}, error() {} };
const ports: Ports = { clock: systemClock, random: systemRandom, ids: systemIds, log };

interface Desktop {
  readonly agent: Agent;
  readonly store: StateStore<DesktopTables>;
  readonly session: string;
  readonly marks: readonly DesktopMark[];
}

async function open(order: DesktopsOrder, index: number, runs: RunTable): Promise<Desktop> {
  const { url, relay, slots, marked } = order;
  const { token, directory, project } = order.desktops[index]!;
  const store = await openProcessState<DesktopTables>({ directory, tables: DESKTOP_TABLES, log, clock: systemClock });
  const session = benchSession(systemIds);
  const marks: DesktopMark[] = [];
  const agent = createAgent({
    ports,
    dialers: marked ? markedDialers({ url, token, marks }) : createDialers(wayOf({ url, token })),
    store,
    engine: { ...runs.engine, close: async () => {} },
    library: { list: () => [session], load: async () => ({ name: session.file_name, source: '' }) },
    mode: relay,
    slots,
  });
  await agent.sharing.share(project, session.graph_session_id);
  return { agent, store, session: session.graph_session_id, marks };
}

function wayOf({ url, token }: { url: string; token: string }) {
  const client = createHttpClient({ clock: systemClock, environment: {} });
  return { url, token: () => token, clock: systemClock, ...client, open: openSocket };
}

/** Notes when an answer was whole at the socket, and when the loop had it. */
function markedDialers({ url, token, marks }: { url: string; token: string; marks: DesktopMark[] }): Dialers {
  let socketUs = 0;
  const way = wayOf({ url, token });
  const dialers = createDialers({
    ...way,
    async fetch(input, init) {
      const response = await way.fetch(input, init);
      if (String(input).endsWith('relay.sync')) socketUs = stampUs();
      return response;
    },
    open: (address, headers, events) =>
      openSocket(address, headers, {
        ...events,
        onMessage(text) {
          if (text.includes('"commands":[{')) socketUs = stampUs();
          events.onMessage(text);
        },
      }),
  });
  const marked = (dialer: Dialer): Dialer => ({
    ...dialer,
    async sync(input, at) {
      const answer = await dialer.sync(input, at);
      const loopUs = stampUs();
      for (const { command_id } of answer.commands) marks.push({ commandId: command_id, socketUs, loopUs });
      return answer;
    },
  });
  const { 'long-poll': held, websocket, plain } = dialers;
  return { 'long-poll': marked(held), websocket: marked(websocket), plain: marked(plain) };
}

async function start(desktops: readonly Desktop[], spreadMs: number): Promise<number[]> {
  const startedAt: number[] = [];
  for (const { agent } of desktops) {
    startedAt.push(sharedClock.monotonic());
    void agent.run();
    await sleepFor(systemClock, spreadMs / desktops.length);
  }
  return startedAt;
}

async function stop(desktops: readonly Desktop[]): Promise<void> {
  await Promise.all(
    desktops.map(async ({ agent, store }) => {
      await agent.drain(0);
      await store.close();
    }),
  );
}

const order = await new Promise<DesktopsOrder>((done) =>
  process.once('message', (first) => done(first as DesktopsOrder)),
);
await rehearseDesktop(ports);
const runs = createRunTable({ world: sharedClock, clock: systemClock, stopMs: order.stopMs });
const desktops = await Promise.all(order.desktops.map((_, index) => open(order, index, runs)));
const sessions = desktops.map(({ session }) => session);
const tell = (answer: Partial<DesktopsAnswer>) =>
  process.send?.({ sessions, startedAt: [], times: [], marks: [], ...answer } satisfies DesktopsAnswer);

process.on('message', (question: DesktopsQuestion) => {
  if (question.ask === 'run') void start(desktops, question.spreadMs).then((startedAt) => tell({ startedAt }));
  else tell({ times: [...runs.times], marks: desktops.flatMap(({ marks }) => marks) });
});
// Whoever has ended in mid-measurement may have taken the folders along.
process.once(
  'disconnect',
  () =>
    void stop(desktops).then(
      () => process.exit(),
      () => process.exit(),
    ),
);
tell({});
