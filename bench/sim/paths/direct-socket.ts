/** The relay's side of a WebSocket on the short way: tRPC's frames in, the handlers' answers out. */
import type { RelayHandlers } from '../../../protocol/api.ts';
import { ERRORS } from '../../../protocol/errors.ts';
import type { ServeFrames } from '../../../server/desktop-sockets.ts';
import type { CallKind } from '../history.ts';
import { callHandler, type Reply } from './direct-call.ts';

interface Frame {
  readonly id: number;
  readonly params: { readonly path: string; readonly input: unknown };
}

export function framesFor(calls: RelayHandlers): ServeFrames {
  return (socket) => {
    const closed = new AbortController();
    socket.once('close', () => closed.abort());
    socket.on('message', (data: Buffer) => {
      const text = data.toString();
      if (text === 'PING') socket.send('PONG');
      else void answer(JSON.parse(text) as Frame);
    });

    async function answer({ id, params }: Frame): Promise<void> {
      socket.began(id);
      const call = { kind: params.path.replace('relay.', '') as CallKind, input: params.input };
      const context = { desktopId: socket.desktopId, transport: 'websocket', signal: closed.signal } as const;
      const reply = await callHandler(calls, call, context);
      socket.answered(id);
      socket.send(JSON.stringify(frameOf(id, reply)));
    }
  };
}

function frameOf(id: number, reply: Reply): object {
  if ('value' in reply) return { id, result: { type: 'data', data: reply.value } };
  const { code, message } = reply.error;
  return { id, error: { message, code: -32_000, data: { relayCode: code, httpStatus: ERRORS[code].http } } };
}
