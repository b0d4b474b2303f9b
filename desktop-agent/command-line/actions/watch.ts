/** What `graph-relay desktop watch` does: a picture on a terminal, the lines of `events` elsewhere. */
import { localCallError, localClient } from '../../../protocol/host/local-calls.ts';
import { dataDirectory } from '../../../protocol/host/process.ts';
import { systemClock } from '../../../protocol/host/system-ports.ts';
import { painted } from '../../../protocol/host/terminal.ts';
import type { Timer } from '../../../protocol/ports.ts';
import type { DesktopLocalRouter } from '../../local-api.ts';
import type { FeedAnswer } from '../../runs/run-feed.ts';
import { FullScreen } from '../../watch/full-screen.ts';
import { watchScreen } from '../../watch/watch-screen.ts';
import { keyOf } from '../../watch/watch-state.ts';
import { type WatchedDesktop, Watching } from '../../watch/watching.ts';
import type { OwnerOptions } from './admin.ts';
import { followEvents } from './runs.ts';

/** What follows each other this closely is drawn at once: a busy run has many events. */
const FRAME_MS = 30;
/** Times on the screen go on. */
const TICK_MS = 1_000;

export async function watch(options: OwnerOptions): Promise<void> {
  if (!process.stdout.isTTY || options.json) return followEvents(undefined, options);
  await onScreen(watchedDesktop(dataDirectory(options.data, 'desktop')));
}

async function onScreen(desktop: WatchedDesktop): Promise<void> {
  const screen = new FullScreen(process.stdout, process.stdin);
  const over = new AbortController();
  let frame: Timer | null = null;
  const draw = () => {
    frame?.cancel();
    frame = systemClock.after(TICK_MS, draw);
    const view = { ...screen.size, now: systemClock.now(), mute: !screen.hasKeys, paint: painted };
    screen.draw(watchScreen(watching.state, view));
  };
  let isWaiting = false;
  const onChange = () => {
    if (isWaiting) return;
    isWaiting = true;
    systemClock.after(FRAME_MS, () => {
      isWaiting = false;
      if (!over.signal.aborted) draw();
    });
  };
  const onQuit = () => {
    over.abort();
    frame?.cancel();
    screen.leave();
    // A question to the desktop may be held for a while yet.
    process.exit();
  };
  const watching = new Watching({ desktop, clock: systemClock, onChange, onQuit });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, onQuit);
  process.stdout.once('error', onQuit);
  screen.onResize(draw);
  screen.onKey((key) => watching.press(keyOf(key)));
  draw();
  await watching.run(over.signal);
}

function watchedDesktop(directory: string): WatchedDesktop {
  const client = localClient<DesktopLocalRouter>(directory);
  const answered = async <T>(call: Promise<T>): Promise<T> => {
    try {
      return await call;
    } catch (error) {
      throw localCallError(error) ?? new Error('the desktop does not run');
    }
  };
  return {
    async status() {
      const status = await answered(client.status.mutate());
      if (status === null || 'ended' in status) throw new Error('the desktop does not run');
      return status;
    },
    runs: (limit) => answered(client.runs.list.mutate({ limit })),
    // tRPC's types take what may be anything for what may be left out.
    events: ({ after, waitMs }) =>
      answered(client.runs.events.mutate({ after, wait_ms: waitMs })) as Promise<FeedAnswer>,
    approvals: async () => (await answered(client.tools.approvals.mutate())) ?? [],
    decide: ({ approval, decision, scope }) => answered(client.tools.decide.mutate({ approval, decision, scope })),
    cancel: (run) => answered(client.runs.cancel.mutate({ run })),
  };
}
