/** Writes down a call of a desktop and how it ended, as the desktop sees it. Changes nothing. */
import { asRelayError } from '../../../protocol/errors.ts';
import type { CallKind, FactOf, History, InstanceRef } from '../history.ts';
import type { VirtualClock } from '../virtual-clock.ts';

export interface Observer {
  readonly history: History;
  readonly ref: InstanceRef;
  readonly clock: VirtualClock;
}

/** What an answer said, as far as checkers want to know. */
export type Told = Partial<Pick<FactOf<'call-ended'>, 'error' | 'epoch' | 'offered' | 'go'>>;

export interface ObservedCall<A> {
  readonly call: CallKind;
  readonly input: object;
  readonly signal: AbortSignal;
  readonly send: () => Promise<A>;
  readonly told: (answer: A) => Told;
}

export async function observedCall<A>(observer: Observer, call: ObservedCall<A>): Promise<A> {
  const { history, ref, clock } = observer;
  const { call: kind, input, signal } = call;
  const id = history.nextId();
  const commandId = 'command_id' in input ? String(input.command_id) : null;
  const sent = { ...ref, call: kind, id, sentAt: clock.monotonic(), commandId };
  history.add({ type: 'call-sent', ...ref, call: kind, id, commandId });
  history.tell(ref.instance, `sends ${kind}`, commandId);
  const ended = (told: Told) => {
    const error = told.error != null && signal.aborted ? 'taken-back' : (told.error ?? null);
    if (error !== null && !signal.aborted) history.tell(ref.instance, `${kind} fails: ${error}`, commandId);
    history.add({ type: 'call-ended', ...sent, epoch: null, offered: [], go: null, ...told, error });
  };
  try {
    const answer = await call.send();
    ended(call.told(answer));
    return answer;
  } catch (error) {
    ended({ error: asRelayError(error).code });
    throw error;
  }
}
