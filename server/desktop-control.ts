/**
 * A desktop's control: the ack of a command, the last word before it runs, and the news of a cancel while it does.
 */
import type { CallContext } from '../protocol/api.ts';
import { hasEnded, isWaiting } from '../protocol/command-machine.ts';
import type { ControlAnswer, ControlInput } from '../protocol/schemas.ts';
import { expiredText } from './deadlines.ts';
import { type DesktopCallsOptions, ownCommand, refuseOneTooMany } from './desktop-calls.ts';
import { controlAnswerOf } from './dispatcher.ts';
import { shuttingDown } from './draining.ts';
import { grantHold, Hold, keptMs } from './holds.ts';
import type { CommandRow } from './rows.ts';

export function createControlCall(options: DesktopCallsOptions) {
  const { approvals, commands, desktops, dispatcher, draining, held, ports, store } = options;

  async function control(input: ControlInput, context: CallContext): Promise<ControlAnswer> {
    desktops.contact(context.desktopId, context.transport);
    if (input.phase === 'starting') {
      // What it starts is on disk, and looked at only then: also who is live.
      await store.synced();
      if (!isReplaced(input, context)) startIfWaiting(options, input, context);
      // That it may run is on disk before it is said: no restart of the relay takes this word back.
      await store.synced();
    }
    if (isReplaced(input, context)) return { cancel: true, reason: 'session-replaced' };
    const row = ownCommand(commands, input.command_id, context.desktopId);
    if (row === null) return { cancel: true, reason: 'unknown-command' };
    if (!hasEnded(row.status)) desktops.spokeOf(row.commandId);
    if (isWaiting(row.status)) return { cancel: true, reason: 'not-started' };
    if (row.executionId !== input.execution_id) return { cancel: true, reason: row.stopReason ?? 'ended' };
    // Who has gone away has something else to say by now.
    if (input.phase === 'running' && !context.signal.aborted) approvals.say(row, input.awaiting_approval ?? null);
    const answer = controlAnswerOf(row);
    const holdMs = input.phase === 'running' ? grantHold(input.hold_ms, ports.random) : 0;
    return answer.cancel || holdMs === 0 ? answer : heldAnswer(row, context, holdMs);
  }

  function isReplaced({ epoch }: ControlInput, { desktopId }: CallContext): boolean {
    return epoch !== undefined && epoch < desktops.epoch(desktopId);
  }

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

  return control;
}

/**
 * Starts the command if it waits, or ends it when it is too late for it; anything else is left as it is. Whoever says so
 * waits for the disk before.
 */
export function startIfWaiting(
  { commands, desktops, ports }: DesktopCallsOptions,
  { command_id, execution_id = null }: { command_id: string; execution_id?: string | null | undefined },
  { desktopId, transport }: CallContext,
): void {
  const row = ownCommand(commands, command_id, desktopId);
  if (row === null || !isWaiting(row.status)) return;
  if (ports.clock.now() >= row.startBy) {
    commands.apply(command_id, { type: 'expire', text: expiredText(row) });
    return;
  }
  // Before it counts as running: its silence is measured from here.
  desktops.spokeOf(command_id);
  commands.apply(command_id, { type: 'start', executionId: execution_id }, { transport });
}
