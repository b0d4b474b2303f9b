/**
 * The three calls of a desktop: sync, control, complete.
 *
 * Owns what each call means for the books. Three waits for the disk are made here, and each one is a promise to
 * somebody: a command may start only when it is on disk; a completion is `stored` only when it is; a new epoch is told
 * only when no restart can take it back.
 */
import type { CallContext, RelayHandlers } from '../protocol/api.ts';
import { hasEnded, isWaiting } from '../protocol/command-machine.ts';
import { RelayError } from '../protocol/errors.ts';
import { HOLD_JITTER_SHARE, HOLD_MARGIN_MS, HOLD_MAX_MS, PLAIN_POLL_MS } from '../protocol/limits.ts';
import type { Ports, StateStore } from '../protocol/ports.ts';
import type {
  CompleteAnswer,
  CompleteInput,
  ControlAnswer,
  ControlInput,
  OfferedCommand,
  SyncAnswer,
  SyncInput,
} from '../protocol/schemas.ts';
import { NOT_SHARED, RESTARTED_DURING_RUN } from '../protocol/texts.ts';
import type { CommandBook } from './command-book.ts';
import { EXPIRED_TEXT } from './deadlines.ts';
import type { DesktopBook } from './desktop-book.ts';
import { controlAnswerOf, type Dispatcher, SyncHold } from './dispatcher.ts';
import { Hold } from './holds.ts';
import type { CommandRow, RelayTables } from './rows.ts';

export interface DesktopCallsOptions {
  readonly ports: Ports;
  readonly store: StateStore<RelayTables>;
  readonly commands: CommandBook;
  readonly desktops: DesktopBook;
  readonly dispatcher: Dispatcher;
  /** Whether this project exists on this relay. */
  readonly hasProject: (projectId: string) => boolean;
  /** True when the relay is about to stop: nothing new is held or offered. */
  readonly draining: () => boolean;
}

export function createDesktopCalls(options: DesktopCallsOptions): RelayHandlers {
  const { commands, desktops, dispatcher, store, ports } = options;

  async function sync(input: SyncInput, context: CallContext): Promise<SyncAnswer> {
    const { desktopId } = context;
    const epoch = await admit(input, context);
    desktops.setHolding(desktopId, input.holding);
    const refused = takeShares(input, desktopId);
    returnLostOffers(desktopId);

    const holdMs = grantHold(input.hold_ms);
    const answerFor = (offered: OfferedCommand[]): SyncAnswer => ({
      epoch,
      commands: offered,
      refused_projects: refused,
      hold_granted_ms: holdMs,
      next_sync_ms: holdMs > 0 ? 0 : PLAIN_POLL_MS,
    });
    // Nothing is offered to a caller that has gone: it would count as offered and be lost.
    if (options.draining() || context.signal.aborted) return answerFor([]);
    const offered = dispatcher.take(desktopId, { capacity: input.capacity, epoch });
    if (offered.length > 0 || holdMs === 0) {
      // The request that is answered now takes the place of one that may still be held.
      dispatcher.syncs.get(desktopId)?.release();
      return answerFor(offered);
    }
    const { clock } = ports;
    const hold = new SyncHold({
      clock,
      holdMs: Math.max(0, holdMs - HOLD_MARGIN_MS),
      signal: context.signal,
      capacity: input.capacity,
      epoch,
      answerFor,
    });
    dispatcher.syncs.put(desktopId, hold);
    const answer = await hold.answer;
    if (hold.end !== 'caller-gone') desktops.contact(desktopId, context.transport);
    return answer;
  }

  /** Lets the instance in, and settles what an older instance left behind. */
  async function admit(input: SyncInput, context: CallContext): Promise<number> {
    const { desktopId } = context;
    const admitted = desktops.admit(desktopId, input.instance_id);
    desktops.contact(desktopId, context.transport);
    if (!admitted.replacedOther) {
      await admitted.durable;
      return admitted.row.epoch;
    }
    dispatcher.syncs
      .get(desktopId)
      ?.fail(
        new RelayError('session-replaced', 'A newer instance of this desktop has connected, so this one must stop.'),
      );
    for (const row of [...commands.live(desktopId)]) {
      if (row.status !== 'running' || input.holding.includes(row.commandId)) continue;
      commands.apply(row.commandId, { type: 'interrupt', text: RESTARTED_DURING_RUN });
    }
    await admitted.durable;
    ports.log.info('desktop.connected', {
      desktop_id: desktopId,
      epoch: admitted.row.epoch,
      transport: context.transport,
    });
    return admitted.row.epoch;
  }

  /** Takes over what is shared now, and ends what waits for a session that is not shared any more. */
  function takeShares(input: SyncInput, desktopId: string): SyncAnswer['refused_projects'] {
    const known = input.projects.filter((project) => options.hasProject(project.project_id));
    if (desktops.share(desktopId, known)) {
      for (const row of [...commands.live(desktopId)]) {
        const shared = desktops.find([row.projectId], row.graphSessionId);
        if (shared?.desktopId === desktopId && shared.session.slug === row.slug) continue;
        commands.apply(row.commandId, { type: 'withdraw', text: NOT_SHARED });
      }
    }
    return input.projects
      .filter((project) => !known.includes(project))
      .map(({ project_id }) => ({ project_id, reason: 'There is no such project on this relay.' }));
  }

  /** An offer that the desktop does not list was lost on the way: it goes into this same answer. */
  function returnLostOffers(desktopId: string): void {
    for (const row of [...commands.live(desktopId)]) {
      if (row.status !== 'offered' || desktops.isHolding(desktopId, row.commandId)) continue;
      commands.apply(row.commandId, { type: 'return' });
    }
  }

  function grantHold(askedMs: number): number {
    const granted = Math.min(askedMs, HOLD_MAX_MS);
    return Math.round(granted * (1 - HOLD_JITTER_SHARE * ports.random.next()));
  }

  function own(commandId: string, desktopId: string): CommandRow | null {
    const row = commands.get(commandId);
    return row?.desktopId === desktopId ? row : null;
  }

  async function control(input: ControlInput, context: CallContext): Promise<ControlAnswer> {
    const { desktopId } = context;
    desktops.contact(desktopId, context.transport);
    // The last word before running waits for the disk, and looks at the instance and the command only then.
    if (input.phase === 'starting') await store.synced();
    if (input.epoch !== undefined && input.epoch < desktops.epoch(desktopId)) {
      return { cancel: true, reason: 'session-replaced' };
    }
    const row = own(input.command_id, desktopId);
    if (row === null) return { cancel: true, reason: 'unknown-command' };
    if (isWaiting(row.status)) return start(row, input, context);
    if (row.executionId !== input.execution_id) return { cancel: true, reason: row.stopReason ?? 'ended' };
    const answer = controlAnswerOf(row);
    const holdMs = grantHold(input.hold_ms);
    if (answer.cancel || input.phase === 'starting' || holdMs === 0 || options.draining()) return answer;
    const hold = new Hold<ControlAnswer>({
      clock: ports.clock,
      holdMs: Math.max(0, holdMs - HOLD_MARGIN_MS),
      signal: context.signal,
      empty: () => ({ cancel: false, reason: null }),
    });
    dispatcher.controls.put(row.commandId, hold);
    return hold.answer;
  }

  function start(row: CommandRow, input: ControlInput, context: CallContext): ControlAnswer {
    if (ports.clock.now() >= row.startBy) {
      commands.apply(row.commandId, { type: 'expire', text: EXPIRED_TEXT });
      return { cancel: true, reason: 'expired' };
    }
    const event = { type: 'start', executionId: input.execution_id } as const;
    commands.apply(row.commandId, event, { transport: context.transport });
    return { cancel: false, reason: null };
  }

  async function complete(input: CompleteInput, context: CallContext): Promise<CompleteAnswer> {
    const { desktopId } = context;
    desktops.contact(desktopId, context.transport);
    const row = own(input.command_id, desktopId);
    if (row === null) {
      throw new RelayError(
        'unknown-command',
        `The relay has no command ${input.command_id} for this desktop, so its completion can never be stored.`,
      );
    }
    const other = row.executionId !== null && row.executionId !== input.execution_id;
    if (other && row.status !== 'cancelled') {
      throw new RelayError(
        'execution-refused',
        `Command ${row.commandId} belongs to another execution, so this completion can never be stored.`,
      );
    }
    const frozenResult = JSON.stringify(input.result ?? null);
    const { changed } = commands.apply(row.commandId, { type: 'complete', completion: input }, { frozenResult });
    const sync_raised = input.capacity !== undefined && dispatcher.raiseCapacity(desktopId, input.capacity);
    await store.synced();
    if (!changed && !hasEnded(row.status))
      throw new Error(`completion of ${row.commandId} was not taken in status ${row.status}`);
    return { stored: true, already: !changed, sync_raised };
  }

  return { sync, control, complete };
}
