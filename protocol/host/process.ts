/**
 * The life of a process of ours: its data folder, its state, the signals that end it, and the messages when it cannot
 * start.
 */
import { join, resolve } from 'node:path';
import type { Clock, Log, StateStore, TableShapes } from '../ports.ts';
import { ExitError } from './exit-codes.ts';
import { isServed, localSocketPath } from './local-socket.ts';
import type { ProcessLog } from './logging.ts';
import { openLowdbState } from './state/lowdb-state.ts';
import { nodeDisk } from './state/node-disk.ts';
import { StateDamagedError, StateLockedError } from './state/state-errors.ts';

/** Where everything is kept unless the command line or the environment says otherwise. */
export const DEFAULT_DATA_DIRECTORY = '.graph-relay';
export const DATA_VARIABLE = 'GRAPH_RELAY_DATA';

export function dataDirectory(
  option: string | undefined,
  part: 'server' | 'desktop' | 'graphs' | 'logs' | '.',
): string {
  return join(resolve(option ?? process.env[DATA_VARIABLE] ?? DEFAULT_DATA_DIRECTORY), part);
}

/** Opens the durable state, with a clear exit where it cannot be opened. */
export async function openProcessState<Tables extends TableShapes>(options: {
  directory: string;
  tables: readonly (keyof Tables & string)[];
  log: Log;
  clock: Clock;
}): Promise<StateStore<Tables>> {
  if (!canSeeProcesses() && (await isServed(localSocketPath(options.directory)))) {
    throw new ExitError(
      'locked',
      `${options.directory} is in use by a process that answers on its socket. Stop it first.`,
    );
  }
  try {
    return await openLowdbState<Tables>({ ...options, disk: nodeDisk });
  } catch (error) {
    if (error instanceof StateLockedError) throw new ExitError('locked', error.message, { cause: error });
    if (error instanceof StateDamagedError) throw new ExitError('damaged', error.message, { cause: error });
    throw error;
  }
}

/**
 * The state's lock asks the system whether its holder lives. Deno lets nobody ask for another process who may not run
 * programs; then the holder itself is asked. (Node's refusals carry a code, Deno's do not.)
 */
function canSeeProcesses(): boolean {
  try {
    return process.kill(process.ppid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== undefined;
  }
}

/** What a process tells the one that started it with an IPC channel. */
export type ReadyMessage = { readonly type: 'ready'; readonly url?: string };

export function announceReady(message: ReadyMessage): void {
  process.send?.(message);
}

/**
 * Resolves when the process is asked to stop: SIGINT, SIGTERM, or the end of the process that started it. A second
 * signal ends it at once.
 */
export function stopRequest(log: ProcessLog): Promise<string> {
  return new Promise((done) => {
    let asked = false;
    const onSignal = (signal: string) => {
      if (asked) {
        log.warn('process.stopped-hard', { signal });
        log.flush();
        process.exit(1);
      }
      asked = true;
      done(signal);
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
    process.once('disconnect', () => done('disconnect'));
    // The channel to the parent tells of its end; it must not keep this process alive.
    process.channel?.unref();
  });
}

/** The last line of a process that fails: logged, flushed, and then gone. */
export function endOnFault(log: ProcessLog): void {
  const end = (event: string) => (error: unknown) => {
    log.error(event, { err: error });
    log.flush();
    process.exit(1);
  };
  process.on('uncaughtException', end('process.uncaught'));
  process.on('unhandledRejection', end('process.unhandled'));
}
