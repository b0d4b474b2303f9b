/**
 * A desktop's sync: who it is, what it shares and holds, and what it gets.
 *
 * Owns the order of these steps, and the hold.
 */
import type { CallContext } from '../protocol/api.ts';
import { isPlainOffer } from '../protocol/command-machine.ts';
import { RelayError } from '../protocol/errors.ts';
import { PLAIN_POLL_MS } from '../protocol/limits.ts';
import type { OfferedCommand, SyncAnswer, SyncInput } from '../protocol/schemas.ts';
import { NOT_SHARED, RESTARTED_DURING_RUN } from '../protocol/texts.ts';
import type { DesktopCallsOptions } from './desktop-calls.ts';
import { SyncHold } from './dispatcher.ts';
import { grantHold, keptMs } from './holds.ts';

export class SyncCall {
  readonly #options: DesktopCallsOptions;

  constructor(options: DesktopCallsOptions) {
    this.#options = options;
  }

  async answer(input: SyncInput, context: CallContext): Promise<SyncAnswer> {
    const { desktops, dispatcher, draining, ports } = this.#options;
    const { desktopId } = context;
    const epoch = await this.#admit(input, context);
    const parting = input.leaving !== undefined || desktops.hasStopped(desktopId, input.instance_id);
    const holdMs = parting || draining.begun ? 0 : grantHold(input.hold_ms, ports.random);
    const { instance_id: instanceId, leaving: why } = input;
    if (!parting) desktops.arrived(desktopId, context.transport);
    else if (why !== undefined) desktops.left(desktopId, context.transport, { instanceId, why });
    desktops.setHolding(desktopId, input.holding);
    const refused = this.#takeShares(input, desktopId);
    this.#returnLostOffers(desktopId);

    const answerFor = (offered: OfferedCommand[]): SyncAnswer => ({
      epoch,
      commands: offered,
      refused_projects: refused,
      hold_granted_ms: holdMs,
      next_sync_ms: holdMs > 0 ? 0 : draining.begun ? draining.nextSyncMs() : PLAIN_POLL_MS,
    });
    // Nothing is offered to a caller that has gone or is about to go: it would count as offered and be lost.
    if (parting || context.signal.aborted) {
      if (parting) dispatcher.syncs.get(desktopId)?.release();
      return answerFor([]);
    }
    const offered = dispatcher.take(desktopId, { capacity: input.capacity, epoch });
    if (offered.length > 0 || holdMs === 0) {
      // The request that is answered now takes the place of one that may still be held.
      dispatcher.syncs.get(desktopId)?.release();
      return answerFor(offered);
    }
    return this.#held(input, context, { holdMs, epoch, answerFor });
  }

  async #held(
    { capacity }: SyncInput,
    { desktopId, signal }: CallContext,
    granted: { holdMs: number; epoch: number; answerFor: (offered: OfferedCommand[]) => SyncAnswer },
  ): Promise<SyncAnswer> {
    const { dispatcher, ports } = this.#options;
    const { holdMs, epoch, answerFor } = granted;
    const hold = new SyncHold({ clock: ports.clock, holdMs: keptMs(holdMs), signal, capacity, epoch, answerFor });
    dispatcher.syncs.put(desktopId, hold);
    // That it ends says nothing of the desktop: what is heard of it are its requests.
    return hold.answer;
  }

  /** Lets the instance in, and settles what an older instance left behind. */
  async #admit(input: SyncInput, { desktopId, transport }: CallContext): Promise<number> {
    const { commands, desktops, dispatcher, ports } = this.#options;
    const admitted = desktops.admit(desktopId, input.instance_id, input.predecessors);
    const { epoch } = admitted.row;
    if (admitted.replacedOther) dispatcher.syncs.get(desktopId)?.fail(sessionReplaced());
    // In each sync, not only in the first: what an older instance ran may be held for a while by its name alone, until
    // the completion is refused that belongs to another execution.
    for (const row of [...commands.live(desktopId)]) {
      const leftBehind = admitted.replacedOther || (row.epoch !== null && row.epoch < epoch);
      if (row.status !== 'running' || !leftBehind || input.holding.includes(row.commandId)) continue;
      commands.apply(row.commandId, { type: 'interrupt', text: RESTARTED_DURING_RUN });
    }
    if (!admitted.replacedOther) {
      await admitted.durable;
      return epoch;
    }
    await admitted.durable;
    ports.log.info('desktop.connected', { desktop_id: desktopId, epoch, transport });
    return epoch;
  }

  /** Takes over what is shared now, and ends what waits for a session that is not shared any more. */
  #takeShares(input: SyncInput, desktopId: string): SyncAnswer['refused_projects'] {
    const { desktops, hasProject } = this.#options;
    const known = input.projects.filter((project) => hasProject(project.project_id));
    if (desktops.share(desktopId, known)) endUnshared(this.#options, desktopId);
    return input.projects
      .filter((project) => !known.includes(project))
      .map(({ project_id }) => ({ project_id, reason: NO_SUCH_PROJECT }));
  }

  /** An offer that the desktop does not list was lost on the way: it goes into this same answer. */
  #returnLostOffers(desktopId: string): void {
    const { commands, desktops } = this.#options;
    for (const row of [...commands.live(desktopId)]) {
      // Not so one of the plain contract: it has a lease, and its desktop does not list anything.
      if (row.status !== 'offered' || isPlainOffer(row) || desktops.isHolding(desktopId, row.commandId)) continue;
      commands.apply(row.commandId, { type: 'return' });
    }
  }
}

export const NO_SUCH_PROJECT = 'There is no such project on this relay.';

export function sessionReplaced(): RelayError {
  return new RelayError('session-replaced', 'A newer instance of this desktop has connected, so this one must stop.');
}

/** Ends what waits or runs for a session that its desktop does not share with that project any more. */
export function endUnshared({ commands, desktops }: DesktopCallsOptions, desktopId: string): void {
  for (const row of [...commands.live(desktopId)]) {
    const shared = desktops.find([row.projectId], row.graphSessionId);
    if (shared?.desktopId === desktopId && shared.session.slug === row.slug) continue;
    commands.apply(row.commandId, { type: 'withdraw', text: NOT_SHARED });
  }
}
