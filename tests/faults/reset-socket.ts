/** Ends a connection with a RST, as a killed process or a rude proxy does. */
import type { Socket } from 'node:net';

/**
 * A socket that is about to end by itself cannot be reset any more: libuv refuses, and Node (24) then waits for it when
 * the process exits, in a loop and for ever. Such a one is closed in the usual way.
 */
export function resetSocket(socket: Socket): void {
  if (socket.writableEnded || socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}
