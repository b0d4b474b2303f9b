/** The relay as a process: real clock, real disk, a TCP port. The composition root of the server. */

import { localHandler } from '../protocol/host/local-calls.ts';
import { localSocketPath, serveLocal } from '../protocol/host/local-socket.ts';
import type { LogLevel } from '../protocol/host/log-levels.ts';
import { createProcessLog } from '../protocol/host/logging.ts';
import { announceReady, dataDirectory, endOnFault, openProcessState, stopRequest } from '../protocol/host/process.ts';
import { systemClock, systemIds, systemRandom } from '../protocol/host/system-ports.ts';
import type { Log, LogFields } from '../protocol/ports.ts';
import { prepareAuthorization, publicOrigin } from './auth/opening.ts';
import type { ServerSocket } from './desktop-sockets.ts';
import { FrontDoor } from './front-door.ts';
import { listenHttp } from './http-server.ts';
import { createRelayAdmin, createRelayLocalRouter } from './local-api.ts';
import { rehearseServer } from './rehearsal.ts';
import { createRelay } from './relay.ts';
import type { RelayLimits } from './relay-limits.ts';
import { RELAY_TABLES, type RelayTables } from './rows.ts';
import { handleUpgrades } from './upgrades.ts';

export interface ServerOptions {
  readonly data: string | undefined;
  readonly host: string;
  readonly port: number;
  /** What the relay is called from outside, where that is not where it listens. */
  readonly publicUrl?: string | undefined;
  readonly logLevel: LogLevel;
  /** What clients are told. */
  readonly version?: string | undefined;
  /** The owner's own numbers. */
  readonly limits: Partial<RelayLimits>;
}

/** Looks on, for whoever measures the process from inside. Must not throw, and changes nothing. */
export interface ServerObserver {
  /** Called in the turn of the event, at any level. */
  event(event: string, fields: LogFields): void;
  /** A WebSocket, just before the relay takes it over. */
  socket(socket: ServerSocket): void;
}

/** Runs until it is asked to stop. */
export async function runServer(options: ServerOptions, observer: ServerObserver | null = null): Promise<void> {
  const log = createProcessLog({ component: 'server', level: options.logLevel, terminal: process.stdout.isTTY });
  endOnFault(log);
  const clock = systemClock;
  const origin = publicOrigin(options.publicUrl);
  const directory = dataDirectory(options.data, 'server');
  const store = await openProcessState<RelayTables>({ directory, tables: RELAY_TABLES, log, clock });
  const ports = { clock, random: systemRandom, ids: systemIds, log: observer === null ? log : observed(log, observer) };
  const opening = await prepareAuthorization({ ports, store, publicOrigin: origin }).catch(async (error) => {
    await store.close();
    throw error;
  });
  const authorization = opening && { authorization: opening.authorization };
  const door = new FrontDoor(ports.log);
  const relay = createRelay({ ports, store, limits: options.limits, version: options.version, door, ...authorization });
  try {
    await rehearseServer(ports);
    const { server, url } = await listenHttp(relay.fetch, options);
    door.open({ url, publicOrigin: origin });
    handleUpgrades(server, {
      door,
      desktopOf: relay.desktopOf,
      draining: relay.draining,
      accept(socket, desktopId) {
        observer?.socket(socket);
        relay.acceptSocket(socket, desktopId);
      },
    });
    await opening?.open(url);
    const ownerLink = () => opening?.authorization.setupLink() ?? null;
    const admin = createRelayAdmin(relay.access, { url, snapshot: relay.snapshot, ownerLink });
    const handler = localHandler(createRelayLocalRouter(admin));
    const local = await serveLocal(localSocketPath(directory), handler).catch((error: unknown) => {
      server.close();
      throw error;
    });
    log.info('server.listening', { url, data: directory, node: process.version });
    announceReady({ type: 'ready', url });

    const signal = await stopRequest(log);
    log.info('server.stopping', { signal });
    await relay.drain();
    const closed = Promise.all([server, local].map((each) => new Promise((done) => each.close(done))));
    server.closeIdleConnections();
    local.closeIdleConnections();
    // Answers that are on their way get a moment; a client that keeps its connection does not hold up the end.
    const force = clock.after(2_000, () => {
      server.closeAllConnections();
      local.closeAllConnections();
    });
    await closed;
    force.cancel();
  } finally {
    // Also after a start that failed: deadlines of queued commands would keep the process alive for a day.
    await relay.drain().catch(() => {});
    await store.close();
    log.info('server.stopped');
    log.flush();
  }
}

function observed(log: Log, observer: ServerObserver): Log {
  const at =
    (level: keyof Log): Log['info'] =>
    (event, fields = {}) => {
      observer.event(event, fields);
      log[level](event, fields);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
