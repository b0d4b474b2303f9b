/** The desktop as a process: real clock, real disk, the real engine. The composition root of the desktop. */
import type { Server } from 'node:http';
import { networkInterfaces } from 'node:os';
import { EXIT_CODES } from '../protocol/host/exit-codes.ts';
import { localHandler } from '../protocol/host/local-calls.ts';
import { localSocketPath, serveLocal } from '../protocol/host/local-socket.ts';
import type { LogLevel } from '../protocol/host/log-levels.ts';
import { createProcessLog } from '../protocol/host/logging.ts';
import { announceReady, dataDirectory, endOnFault, openProcessState, stopRequest } from '../protocol/host/process.ts';
import { systemClock, systemIds, systemRandom } from '../protocol/host/system-ports.ts';
import { note } from '../protocol/host/terminal.ts';
import type { Ports } from '../protocol/ports.ts';
import { createAgent } from './agent.ts';
import { openAgents } from './agents/open-agents.ts';
import { createDesktopEngine } from './desktop-engine.ts';
import { desktopLogFile } from './desktop-log.ts';
import { createDialers } from './dialer/dialers.ts';
import { createHttpClient } from './dialer/http-client.ts';
import { openSocket } from './dialer/open-socket.ts';
import { trustAlso } from './dialer/trust.ts';
import type { EngineLimits } from './engine/engine-limits.ts';
import { FolderLibrary } from './folder-library.ts';
import { graphFolder } from './graph-folder.ts';
import { libraryShelf } from './library-shelf.ts';
import { createDesktopAdmin, createDesktopLocalRouter, type DesktopLocalRouter } from './local-api.ts';
import { openAccess } from './login/desktop-access.ts';
import { LOGIN_ENDED } from './login/oauth-calls.ts';
import type { ModeName } from './modes.ts';
import { rehearseDesktop } from './rehearsal.ts';
import { DESKTOP_TABLES, type DesktopTables } from './rows.ts';
import { openRuns } from './runs/open-runs.ts';
import { watchSleep } from './sleep-watch.ts';
import { DesktopTools } from './tools/desktop-tools.ts';
import { toolsFile } from './tools/tool-servers.ts';
import { createToolsAdmin } from './tools/tools-api.ts';

export interface DesktopOptions {
  readonly data: string | undefined;
  /** The relay's address. */
  readonly relay: string;
  readonly graphs: string | undefined;
  readonly mode: ModeName;
  readonly slots: number;
  readonly holdMs: number;
  /** A file with certificates that are trusted beside the usual ones. */
  readonly ca: string | undefined;
  /** Program and arguments that answer all agents; empty: who the agents file names. */
  readonly agentCommand: readonly string[];
  readonly logLevel: LogLevel;
  /** What the owner allows each run. */
  readonly limits: Partial<EngineLimits>;
}

/** What runs when the desktop is stopped gets this long to finish. */
const DRAIN_GRACE_MS = 10_000;

/** Runs until it is asked to stop, or the relay refuses it for good. */
export async function runDesktop(options: DesktopOptions): Promise<void> {
  const opened = await openDesktop(options);
  const { log, library, store, tools } = opened;
  try {
    await library.scan();
    await live(options, opened, await assemble(options, opened));
  } finally {
    library.close();
    await tools.close();
    await store.close();
    log.info('desktop.stopped');
    log.flush();
  }
}

/** What is on this machine: the log, the data folder with its state, the Graphs, who may answer agents, the tools, the login. */
async function openDesktop(options: DesktopOptions) {
  const log = createProcessLog({ component: 'desktop', level: options.logLevel, terminal: process.stdout.isTTY });
  endOnFault(log);
  const ports: Ports = { clock: systemClock, random: systemRandom, ids: systemIds, log };
  trustAlso(options.ca);
  const directory = dataDirectory(options.data, 'desktop');
  const provider = await openAgents({ data: options.data, command: options.agentCommand, ports });
  const client = createHttpClient({ clock: systemClock, environment: process.env });
  const access = await openAccess({ directory, relay: options.relay, client, clock: systemClock, log });
  const store = await openProcessState<DesktopTables>({ directory, tables: DESKTOP_TABLES, log, clock: systemClock });
  // Not before: the file belongs to whoever has the folder.
  log.keepIn(desktopLogFile(options.data));
  const library = new FolderLibrary({ folder: await graphFolder(options), store, ports });
  const tools = new DesktopTools({ path: toolsFile(directory), environment: process.env, ports, store });
  return { log, ports, directory, provider, client, access, store, library, tools };
}

type Opened = Awaited<ReturnType<typeof openDesktop>>;

/** The desktop itself, and what its owner may ask it. */
async function assemble(options: DesktopOptions, opened: Opened) {
  const { ports, directory, provider, client, access, store, library, tools } = opened;
  await rehearseDesktop(ports);
  const ways = { url: options.relay, token: access.token, clock: systemClock, ...client, open: openSocket };
  const dialers = access.keeping(createDialers(ways));
  const runs = await openRuns({ ports, desktopFolder: directory, library, graphs: libraryShelf(library) });
  const engine = createDesktopEngine({ ports, provider, graphs: runs.graphs, tools, limits: options.limits });
  const agent = createAgent({
    ports,
    dialers,
    store,
    engine: runs.recorded(engine),
    library,
    mode: options.mode,
    slots: options.slots,
    holdMs: options.holdMs,
    network: networkFingerprint,
    onSettled: runs.history.settled,
  });
  const admin = createDesktopAdmin({ library, sharing: agent.sharing, pausing: agent.pausing, agent });
  return { agent, engine, router: createDesktopLocalRouter(admin, runs.desk, createToolsAdmin(tools)) };
}

type Assembled = Awaited<ReturnType<typeof assemble>>;

async function live(options: DesktopOptions, opened: Opened, { agent, engine, router }: Assembled): Promise<void> {
  const { log, directory, library } = opened;
  const local = await serveOwner(directory, router);
  library.watch(agent.libraryChanged);
  // Ready means that the first run is as quick as any other.
  await engine.warmedUp();
  const ended = agent.run();
  const started = { relay: options.relay, mode: options.mode, graphs: library.folder, data: directory };
  log.info('desktop.started', { ...started, paused: agent.pausing.since !== null });
  announceReady({ type: 'ready' });
  const stopWatching = watchSleep({ log, onSleep: () => void agent.asleep(), onWake: agent.awake });
  try {
    const end = await Promise.race([ended, stopRequest(log).then(() => 'stopped' as const)]);
    log.info('desktop.stopping', { reason: end });
    await agent.drain(DRAIN_GRACE_MS);
    // Whoever asks at this moment still gets an answer.
    local.close();
    local.closeIdleConnections();
    if (end !== 'stopped') process.exitCode = EXIT_CODES[end];
    if (end === 'unauthorized') note(agent.snapshot().trouble ?? LOGIN_ENDED);
  } finally {
    stopWatching();
  }
}

function serveOwner(directory: string, router: DesktopLocalRouter): Promise<Server> {
  return serveLocal(localSocketPath(directory), localHandler(router));
}

/** Addresses of this machine: another network gives another text. */
function networkFingerprint(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list?.map(({ address }) => address) ?? []);
  return addresses.sort().join(' ');
}
