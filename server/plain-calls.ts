/**
 * What the calls of version 1 mean for the books. Its desktop does what the published system does: each 20 s a pass,
 * skipped while the one before is busy; a pass posts its projects one by one, runs what it got one after another, and
 * asks each 3 s whether the running one was cancelled. It knows no instance, epoch, ack or hold. Hence:
 *
 * - A sync is about its one project: shares and offers of the others stay as they are.
 * - The answer has all that is queued for the project, and is sent when that is on disk, since nothing else stands
 *   between the answer and the run. There is no ack, so an offer counts as taken for the time of its lease
 *   (`plain-leases.ts`): it is not offered again while the desktop shows a sign of work, and is lost 15 s after the
 *   last one, before the next pass.
 * - The first control of a command starts it, and is answered when that is on disk: its desktop need not keep a journal.
 *   A command that is completed without a control was started at an unknown time.
 * - The desktop may live on and have forgotten a run, which no control then mentions any more. After 15 minutes, or as
 *   soon as a newer `instance_id` connects, it is `lost`, the one end that a late completion from an outbox repairs.
 */
import type { CallContext } from '../protocol/api.ts';
import { isWaiting } from '../protocol/command-machine.ts';
import { RelayError } from '../protocol/errors.ts';
import { CAPACITY_MAX } from '../protocol/limits.ts';
import type {
  PlainCompleteAnswer,
  PlainCompleteInput,
  PlainControlInput,
  PlainSyncAnswer,
  PlainSyncInput,
} from '../protocol/plain-contract.ts';
import type { ControlAnswer } from '../protocol/schemas.ts';
import { sessionReplaced } from './desktop-book.ts';
import { type DesktopCallsOptions, ownCommand } from './desktop-calls.ts';
import { createCompleteCalls } from './desktop-complete.ts';
import { startIfWaiting } from './desktop-control.ts';
import { endUnshared, NO_SUCH_PROJECT } from './desktop-sync.ts';
import { controlAnswerOf } from './dispatcher.ts';
import type { PlainLeases } from './plain-leases.ts';

export interface PlainCalls {
  sync(input: PlainSyncInput, context: CallContext): Promise<PlainSyncAnswer>;
  control(input: PlainControlInput, context: CallContext): Promise<ControlAnswer>;
  complete(input: PlainCompleteInput, context: CallContext): Promise<PlainCompleteAnswer>;
  unreadableCompletion(report: unknown, problem: string, context: CallContext): Promise<void>;
}

const FORGOTTEN_TEXT =
  'The desktop has started anew and said nothing of this run. If its result still comes, it is taken.';

export function createPlainCalls(options: DesktopCallsOptions & { readonly leases: PlainLeases }): PlainCalls {
  const { commands, desktops, dispatcher, leases, store } = options;
  const { complete: storeCompletion, unreadableCompletion } = createCompleteCalls(options);

  async function sync(input: PlainSyncInput, context: CallContext): Promise<PlainSyncAnswer> {
    const { desktopId } = context;
    const { project_id, sessions } = input;
    if (!options.hasProject(project_id)) throw new RelayError('forbidden', NO_SUCH_PROJECT);
    if (input.instance_id !== undefined) admit(options, input.instance_id, desktopId);
    desktops.arrived(desktopId, context.transport);
    if (desktops.shareProject(desktopId, { project_id, sessions })) endUnshared(options, desktopId);
    const offered = context.signal.aborted
      ? []
      : dispatcher.take(desktopId, { capacity: CAPACITY_MAX, epoch: null, projectId: project_id });
    await store.synced();
    // While the disk wrote, some may have been cancelled.
    return { commands: offered.filter(({ command_id }) => commands.get(command_id)?.status === 'offered') };
  }

  async function control(input: PlainControlInput, context: CallContext): Promise<ControlAnswer> {
    const { desktopId } = context;
    desktops.contact(desktopId, context.transport);
    leases.sign(desktopId, input.command_id);
    await store.synced();
    startIfWaiting(options, input, context);
    // As in version 2: that it may run is on disk before it is said.
    await store.synced();
    const row = ownCommand(commands, input.command_id, desktopId);
    if (row === null) return { cancel: true, reason: 'unknown-command' };
    if (isWaiting(row.status)) return { cancel: true, reason: 'not-started' };
    const { execution_id = null } = input;
    const other = row.executionId !== null && execution_id !== null && row.executionId !== execution_id;
    return other ? { cancel: true, reason: row.stopReason ?? 'ended' } : controlAnswerOf(row);
  }

  async function complete(input: PlainCompleteInput, context: CallContext): Promise<PlainCompleteAnswer> {
    leases.sign(context.desktopId, null);
    const { stored, already } = await storeCompletion(input, context);
    return { stored, already };
  }

  return { sync, control, complete, unreadableCompletion };
}

/** Lets an instance in; what an older one had is offered again, or lost until its report comes. */
function admit(options: DesktopCallsOptions, instanceId: string, desktopId: string): void {
  const { commands, desktops, dispatcher } = options;
  const { replacedOther, durable } = desktops.admit(desktopId, instanceId);
  // The answer waits for all that is written; a disk that refuses is told there, and once.
  durable.catch(() => {});
  if (!replacedOther) return;
  dispatcher.syncs.get(desktopId)?.fail(sessionReplaced());
  for (const { commandId, status } of [...commands.live(desktopId)]) {
    if (status === 'offered') commands.apply(commandId, { type: 'return' });
    if (status === 'running') commands.apply(commandId, { type: 'lose', text: FORGOTTEN_TEXT });
  }
}
