/**
 * The calls of a desktop, put together, and what each of them needs.
 *
 * Three waits for the disk are made in these calls, and each one is a promise to somebody: a command may start only
 * when it is on disk; a completion is `stored` only when it is; a new epoch is told only when no restart can take it
 * back.
 */
import type { CallContext, RelayHandlers } from '../protocol/api.ts';
import { RelayError } from '../protocol/errors.ts';
import { HOLD_MAX_MS } from '../protocol/limits.ts';
import type { Ports, StateStore } from '../protocol/ports.ts';
import type { ProbeAnswer, ProbeInput } from '../protocol/schemas.ts';
import type { AwaitedApprovals } from './awaited-approvals.ts';
import type { CommandBook } from './command-book.ts';
import type { DesktopBook } from './desktop-book.ts';
import { createCompleteCalls } from './desktop-complete.ts';
import { createControlCall } from './desktop-control.ts';
import { SyncCall } from './desktop-sync.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Draining } from './draining.ts';
import type { HeldRequests } from './held-requests.ts';
import { Hold } from './holds.ts';
import type { CommandRow, RelayTables } from './rows.ts';

export interface DesktopCallsOptions {
  readonly ports: Ports;
  readonly store: StateStore<RelayTables>;
  readonly approvals: AwaitedApprovals;
  readonly commands: CommandBook;
  readonly desktops: DesktopBook;
  readonly dispatcher: Dispatcher;
  /** Controls and probes that are held, by desktop. */
  readonly held: HeldRequests;
  readonly draining: Draining;
  /** Whether this project exists on this relay. */
  readonly hasProject: (projectId: string) => boolean;
}

export function createDesktopCalls(options: DesktopCallsOptions): RelayHandlers {
  const syncs = new SyncCall(options);
  return {
    sync: (input, context) => syncs.answer(input, context),
    control: createControlCall(options),
    ...createCompleteCalls(options),
    probe: createProbeCall(options),
  };
}

/** The command, when it is this desktop's. */
export function ownCommand(commands: CommandBook, commandId: string, desktopId: string): CommandRow | null {
  const row = commands.get(commandId);
  return row?.desktopId === desktopId ? row : null;
}

/** Throws when the desktop has as many requests held as it may. */
export function refuseOneTooMany(held: HeldRequests, desktopId: string): void {
  if (held.hasRoomFor(desktopId)) return;
  throw new RelayError(
    'too-many-held',
    'This desktop has as many requests held as it may, so this one was not. Ask again without a hold, or later.',
  );
}

function createProbeCall({ ports, held, draining }: DesktopCallsOptions) {
  const { clock } = ports;
  return async function probe(input: ProbeInput, context: CallContext): Promise<ProbeAnswer> {
    const start = clock.monotonic();
    const holdMs = Math.min(input.hold_ms, HOLD_MAX_MS);
    if (holdMs > 0 && !draining.begun) {
      refuseOneTooMany(held, context.desktopId);
      const hold = new Hold<void>({ clock, holdMs, signal: context.signal, empty: () => undefined });
      await held.answerOf(context.desktopId, hold);
    }
    return { held_ms: clock.monotonic() - start, server_now_ms: clock.now() };
  };
}
