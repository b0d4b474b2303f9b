/** The runs of the desktop that works on this data folder, asked over its local socket. */
import { localClient } from '../../protocol/host/local-calls.ts';
import type { DesktopLocalRouter } from '../local-api.ts';
import type { RunDesk, ShownRun } from './run-desk.ts';
import type { FeedAnswer } from './run-feed.ts';

/** Each call rejects as `localCallError` expects it. */
export function remoteDesk(desktopFolder: string): RunDesk {
  const { runs } = localClient<DesktopLocalRouter>(desktopFolder);
  return {
    list: (limit) => runs.list.mutate({ limit }),
    cancel: (run) => runs.cancel.mutate({ run }),
    // tRPC takes a member that may be any value for one that may be missing.
    show: (run) => runs.show.mutate({ run }) as Promise<unknown> as Promise<ShownRun>,
    events: (question, signal) => runs.events.mutate(question, { signal }) as Promise<unknown> as Promise<FeedAnswer>,
  };
}
