/** Writes down each call of a desktop and how it ended, as the desktop sees it. Changes nothing. */
import type { CallOptions, Dialer } from '../../../desktop-agent/ports.ts';
import type { Dialers } from '../../../desktop-agent/transports.ts';
import { asRelayError } from '../../../protocol/errors.ts';
import type { ControlAnswer, SyncAnswer } from '../../../protocol/schemas.ts';
import type { CallKind, History, InstanceRef } from '../history.ts';
import type { VirtualClock } from '../virtual-clock.ts';

interface Observer {
  readonly history: History;
  readonly ref: InstanceRef;
  readonly clock: VirtualClock;
}

export function observed(dialers: Dialers, observer: Observer): Dialers {
  return {
    'long-poll': observedDialer(dialers['long-poll'], observer),
    websocket: observedDialer(dialers.websocket, observer),
    plain: observedDialer(dialers.plain, observer),
  };
}

function observedDialer(dialer: Dialer, observer: Observer): Dialer {
  const observe =
    <I extends object, A>(call: CallKind, send: (input: I, options: CallOptions) => Promise<A>) =>
    async (input: I, options: CallOptions): Promise<A> => {
      const { history, ref, clock } = observer;
      const id = history.nextId();
      const commandId = 'command_id' in input ? String(input.command_id) : null;
      const sent = { ...ref, call, id, sentAt: clock.monotonic(), commandId };
      history.add({ type: 'call-sent', ...ref, call, id, commandId });
      history.tell(ref.instance, `sends ${call}`, commandId);
      try {
        const answer = await send(input, options);
        history.add({ type: 'call-ended', ...sent, error: null, ...told(call, answer) });
        return answer;
      } catch (error) {
        const { code } = asRelayError(error);
        if (!options.signal.aborted) history.tell(ref.instance, `${call} fails: ${code}`, commandId);
        const failed = options.signal.aborted ? 'taken-back' : code;
        history.add({ type: 'call-ended', ...sent, error: failed, epoch: null, offered: [], go: null });
        throw error;
      }
    };
  return {
    sync: observe('sync', dialer.sync),
    control: observe('control', dialer.control),
    complete: observe('complete', dialer.complete),
    probe: observe('probe', dialer.probe),
    renew: () => dialer.renew?.(),
  };
}

function told(call: CallKind, answer: unknown) {
  if (call === 'sync') {
    const { epoch, commands } = answer as SyncAnswer;
    return { epoch, offered: commands.map(({ command_id }) => command_id), go: null };
  }
  const go = call === 'control' ? !(answer as ControlAnswer).cancel : null;
  return { epoch: null, offered: [], go };
}
