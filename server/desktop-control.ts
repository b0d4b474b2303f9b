/**
 * A desktop's control: the ack of a command, the last word before it runs, and the news of a cancel while it does.
 */
import type { CallContext } from '../protocol/api.ts';
import { isWaiting } from '../protocol/command-machine.ts';
import type { ControlAnswer, ControlInput } from '../protocol/schemas.ts';
import type { CommandBook } from './command-book.ts';
import { expiredText } from './deadlines.ts';
import { type DesktopCallsOptions, ownCommand, refuseOneTooMany } from './desktop-calls.ts';
import { controlAnswerOf } from './dispatcher.ts';
import { shuttingDown } from './draining.ts';
import { grantHold, Hold, keptMs } from './holds.ts';
import type { CommandRow } from './rows.ts';

export function createControlCall(options: DesktopCallsOptions) {
  const { commands, desktops, dispatcher, draining, held, ports, store } = options;

  return async function control(input: ControlInput, context: CallContext): Promise<ControlAnswer> {
    const { desktopId } = context;
    desktops.contact(desktopId, context.transport);
    // The last word before running waits for the disk, and looks at everything only then: also at who is live.
    if (input.phase === 'starting') await store.synced();
    if (input.epoch !== undefined && input.epoch < desktops.epoch(desktopId)) {
      return { cancel: true, reason: 'session-replaced' };
    }
    const row = ownCommand(commands, input.command_id, desktopId);
    if (row === null) return { cancel: true, reason: 'unknown-command' };
    const now = ports.clock.now();
    if (isWaiting(row.status)) return startCommand(commands, row, { now, context, executionId: input.execution_id });
    if (row.executionId !== input.execution_id) return { cancel: true, reason: row.stopReason ?? 'ended' };
    const answer = controlAnswerOf(row);
    const holdMs = input.phase === 'running' ? grantHold(input.hold_ms, ports.random) : 0;
    return answer.cancel || holdMs === 0 ? answer : heldAnswer(row, context, holdMs);
  };

  function heldAnswer({ commandId }: CommandRow, context: CallContext, holdMs: number): Promise<ControlAnswer> {
    if (draining.begun) throw shuttingDown();
    // A newer control takes the place of the older one, which must not count against it.
    dispatcher.controls.get(commandId)?.release();
    refuseOneTooMany(held, context.desktopId);
    const hold = new Hold<ControlAnswer>({
      clock: ports.clock,
      holdMs: keptMs(holdMs),
      signal: context.signal,
      empty: () => ({ cancel: false, reason: null }),
    });
    dispatcher.controls.put(commandId, hold);
    return held.answerOf(context.desktopId, hold);
  }
}

/** Starts a waiting command, unless it is too late for it. */
export function startCommand(
  commands: CommandBook,
  row: CommandRow,
  at: { now: number; context: CallContext; executionId: string | null },
): ControlAnswer {
  if (at.now >= row.startBy) {
    commands.apply(row.commandId, { type: 'expire', text: expiredText(row) });
    return { cancel: true, reason: 'expired' };
  }
  const event = { type: 'start', executionId: at.executionId } as const;
  commands.apply(row.commandId, event, { transport: at.context.transport });
  return { cancel: false, reason: null };
}
