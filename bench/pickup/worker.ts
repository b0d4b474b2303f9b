/**
 * The starter's side of a process that takes part in a measurement: start it, hear what it picks, stop it.
 *
 * When it ends by itself, everybody who waits for it is told so, with what it said last.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { Arrivals } from './arrivals.ts';
import type { PickedNote, ReadyNote } from './worker-side.ts';

export interface Worker<Ready> {
  readonly ready: Ready;
  readonly picks: Arrivals<number>;
  /** Called once, when it has ended and nobody asked it to. */
  onGone(hear: (error: Error) => void): void;
  stop(): Promise<void>;
}

/** What has not ended this long after it was let go is killed. */
const STOP_MS = 5_000;
const SAID_CHARS = 2_000;

export async function startWorker<Ready = object>(
  name: string,
  module: URL,
  args: readonly string[],
): Promise<Worker<Ready>> {
  // Detached: Ctrl-C goes to the starter only, which stops its processes in order.
  const child = fork(module, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], detached: true });
  const picks = new Arrivals<number>();
  const listeners: ((error: Error) => void)[] = [];
  let isAsked = false;
  let said = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-SAID_CHARS);
  });
  // Not 'close': it never comes when this side has let go of the channel.
  const ended = Promise.all([once(child, 'exit'), once(child.stderr!, 'close')]).then(
    () => child.signalCode ?? `exit code ${child.exitCode}`,
  );
  const ready = Promise.withResolvers<Ready>();
  child.on('message', (note: ReadyNote | PickedNote) => {
    if ('ready' in note) ready.resolve(note.ready as Ready);
    else picks.arrived(note.id, note.atUs);
  });
  void ended.then((how) => {
    const error = new Error(`The process "${name}" ended (${how})${said === '' ? '.' : `: ${said.trim()}`}`);
    ready.reject(error);
    picks.fail(error);
    if (!isAsked) for (const hear of listeners) hear(error);
  });
  return {
    ready: await ready.promise,
    picks,
    onGone: (hear) => void listeners.push(hear),
    stop() {
      isAsked = true;
      return letGo(child, ended);
    },
  };
}

async function letGo(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.connected) child.disconnect();
  const late = systemClock.after(STOP_MS, () => child.kill('SIGKILL'));
  await ended;
  late.cancel();
}
