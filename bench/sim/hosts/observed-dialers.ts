/** Writes down each call of a production desktop, whatever transport it takes. Changes nothing. */
import type { CallOptions, Dialer } from '../../../desktop-agent/ports.ts';
import type { Dialers } from '../../../desktop-agent/transports.ts';
import type { ControlAnswer, SyncAnswer } from '../../../protocol/schemas.ts';
import type { CallKind } from '../history.ts';
import { type Observer, observedCall, type Told } from './observed-calls.ts';

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
    (input: I, options: CallOptions): Promise<A> =>
      observedCall(observer, {
        call,
        input,
        signal: options.signal,
        send: () => send(input, options),
        told: (answer) => told(call, answer),
      });
  return {
    sync: observe('sync', dialer.sync),
    control: observe('control', dialer.control),
    complete: observe('complete', dialer.complete),
    probe: observe('probe', dialer.probe),
    renew: () => dialer.renew?.(),
  };
}

function told(call: CallKind, answer: unknown): Told {
  if (call === 'control') return { go: !(answer as ControlAnswer).cancel };
  if (call !== 'sync') return {};
  const { epoch, commands } = answer as SyncAnswer;
  return { epoch, offered: commands.map(({ command_id }) => command_id) };
}
