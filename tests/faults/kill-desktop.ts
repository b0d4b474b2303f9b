/**
 * The desktop that `kill-rounds.test.ts` kills: durable journal and outbox, real dialers, and an engine that notes each
 * start in a file before it does anything else.
 */
import { appendFileSync } from 'node:fs';
import { createAgent } from '../../desktop-agent/agent.ts';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { createHttpClient } from '../../desktop-agent/dialer/http-client.ts';
import { openSocket } from '../../desktop-agent/dialer/open-socket.ts';
import type { Engine } from '../../desktop-agent/ports.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { openProcessState } from '../../protocol/host/process.ts';
import { systemClock, systemIds, systemRandom } from '../../protocol/host/system-ports.ts';
import type { Log } from '../../protocol/ports.ts';
import type { DesktopOrder, DesktopReport } from './killable.ts';
import { libraryOf, PROJECT } from './one-graph.ts';

/** Runs take up to this long, so that kills meet them at every stage. */
const RUN_MS = 30;

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
const say = (report: DesktopReport) => process.send?.(report);

function notingEngine(runsFile: string): Engine {
  return {
    start(run) {
      appendFileSync(runsFile, `${run.commandId}\n`);
      const outcome = { resultJson: JSON.stringify(run.args), error: null, totalTokens: 0, reportedCost: null };
      const done = new Promise<void>((over) => setTimeout(over, systemRandom.next() * RUN_MS)).then(() => {
        return { status: 'completed' as const, ...outcome };
      });
      return { done, cancel() {} };
    },
    close: async () => {},
  };
}

async function open({ directory, url, token, sessionId, runsFile }: DesktopOrder): Promise<void> {
  const options = { directory, tables: DESKTOP_TABLES, log: SILENT, clock: systemClock };
  const client = createHttpClient({ clock: systemClock, environment: {} });
  const agent = createAgent({
    ports: { clock: systemClock, random: systemRandom, ids: systemIds, log: SILENT },
    dialers: createDialers({ url, token: () => token, clock: systemClock, open: openSocket, ...client }),
    store: await openProcessState<DesktopTables>(options),
    engine: notingEngine(runsFile),
    library: libraryOf(sessionId),
    slots: 4,
  });
  await agent.sharing.share(PROJECT, sessionId);
  say({ type: 'open' });
  say({ type: 'ended', end: await agent.run() });
}

process.on('message', (order: DesktopOrder) => void open(order));
process.on('disconnect', () => process.exit());
say({ type: 'loaded' });
