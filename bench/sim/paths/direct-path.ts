/**
 * The short way: the desktop's dialer calls the relay's handlers, without tRPC and HTTP between them.
 *
 * Owns what those two do to a call as its two sides see it: JSON both ways, a deadline, codes for what broke. Delays and
 * faults come from the same wire as on the full path; a test holds both paths to equal traces.
 */
import { TRPCClientError } from '@trpc/client';
import { renewableSocketLink } from '../../../desktop-agent/dialer/socket-link.ts';
import type { CallOptions, Dialer } from '../../../desktop-agent/ports.ts';
import type { TransportName } from '../../../protocol/api.ts';
import { type ErrorCode, RelayError } from '../../../protocol/errors.ts';
import { DEADLINE_MARGIN_MS } from '../../../protocol/limits.ts';
import { errorFromWire } from '../../../protocol/trpc-errors.ts';
import { socketsOver } from '../faults/socket-wire.ts';
import type { Breakdown } from '../faults/wire.ts';
import type { CallKind } from '../history.ts';
import { type Call, callHandler, type Reply, versionRefusal } from './direct-call.ts';
import { framesFor } from './direct-socket.ts';
import { socketsNaming } from './naming.ts';
import type { DialGiven, Path } from './path.ts';

export const DIRECT_PATH: Path = {
  name: 'direct',
  settling: 'promises',
  dialers: (given) => ({
    'long-poll': dialer(given, (call, settle) => sendRequest(given, 'long-poll', { call, settle })),
    plain: dialer(given, (call, settle) => sendRequest(given, 'plain', { call, settle })),
    websocket: socketDialer(given),
  }),
  agents: ({ agents }) => agents,
  accept: ({ relay, calls }, socket, desktopId) => relay.acceptSocket(socket, desktopId, { serve: framesFor(calls) }),
};

/** As many promises as there are between the link and the dialer in tRPC's client. */
const HANDING_STEPS = 2;

interface Settle {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: RelayError) => void;
}

/** Sends a call. Returns how to take it back. */
type Send = (call: Call, settle: Settle) => () => void;

function dialer({ life }: DialGiven, send: Send, renew: () => void = () => {}): Dialer {
  const call =
    (kind: CallKind) =>
    (input: object, { signal }: CallOptions): Promise<never> => {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const holdMs = 'hold_ms' in input ? (input.hold_ms as number) : 0;
      const end = (settle: () => void) => {
        timer.cancel();
        signal.removeEventListener('abort', aborted);
        settle();
      };
      const timer = life.after(holdMs + DEADLINE_MARGIN_MS, () => {
        takeBack();
        renew();
        end(() => reject(new RelayError('deadline-exceeded', 'no answer within the deadline')));
      });
      const takeBack = send(
        { kind, input },
        { resolve: (answer) => end(() => resolve(answer)), reject: (error) => end(() => reject(error)) },
      );
      const aborted = () => {
        takeBack();
        end(() => reject(new RelayError('unreachable', 'the call was taken back')));
      };
      if (signal.aborted) aborted();
      else signal.addEventListener('abort', aborted, { once: true });
      return promise as Promise<never>;
    };
  return { sync: call('sync'), control: call('control'), complete: call('complete'), probe: call('probe'), renew };
}

const BREAKDOWN_CODES: Readonly<Record<Breakdown, ErrorCode>> = {
  refused: 'unreachable',
  reset: 'unreachable',
  'html-504': 'not-a-relay',
};

function sendRequest(
  given: DialGiven,
  transport: TransportName,
  { call, settle }: { readonly call: Call; readonly settle: Settle },
): () => void {
  const { wire, life, serving, desktopId, names, randomOf } = given;
  return wire.send<Reply>(life, {
    name: call.kind,
    random: randomOf(call.kind),
    deliver: async (signal) =>
      versionRefusal(names) ?? callHandler(serving().calls, call, { desktopId, transport, signal }),
    onAnswer: (reply) => {
      if ('value' in reply) settle.resolve(reply.value);
      else settle.reject(new RelayError(reply.error.code, reply.error.message));
    },
    onBreakdown: (breakdown) =>
      settle.reject(new RelayError(BREAKDOWN_CODES[breakdown], `the call broke: ${breakdown}`)),
  });
}

/** The production link over one WebSocket, without tRPC's client in front of it. */
function socketDialer(given: DialGiven): Dialer {
  const { life, names, token, sockets } = given;
  const open = socketsNaming(names, socketsOver(sockets, life));
  const { link, renew } = renewableSocketLink({ url: 'http://relay.test', token: () => token, clock: life, open });
  const operate = link({});
  let ids = 0;
  const send: Send = (call, { resolve, reject }) => {
    const op = {
      id: ++ids,
      type: 'mutation' as const,
      path: `relay.${call.kind}`,
      input: call.input,
      context: {},
      signal: null,
    };
    const next = () => {
      throw new Error('the socket link is the last one');
    };
    const subscription = operate({ op, next }).subscribe({
      next: ({ result }) => void handOn(() => resolve('data' in result ? result.data : undefined)),
      error: (error) => void handOn(() => reject(errorOf(error))),
    });
    return () => subscription.unsubscribe();
  };
  return dialer(given, send, renew);
}

/**
 * tRPC's client hands an outcome on from promise to promise. When several calls end in one instant, those that a
 * connection's end took along come after the one that ended it.
 */
async function handOn(settle: () => void): Promise<void> {
  for (let step = 0; step < HANDING_STEPS; step++) await null;
  settle();
}

function errorOf(error: unknown): RelayError {
  if (error instanceof TRPCClientError) {
    const sent = errorFromWire(error);
    if (sent !== null) return sent;
    if (error.cause instanceof RelayError) return error.cause;
  }
  return new RelayError('unreachable', String(error), { cause: error });
}
