/** The relay as a process stands behind its front door, over HTTP and for WebSockets: names and pages that are not its own. */
import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import { TRPC_PATH } from '../../protocol/api.ts';
import { startWorld } from './relay-world.ts';
import { expectProcesses } from './support.ts';

expectProcesses(t);

/** The answer to a request that is written by hand, since no client says these things. */
async function say(url: string, lines: readonly string[]): Promise<string> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' }).on('error', () => {});
  let answer = '';
  socket.on('data', (bytes) => {
    answer += bytes;
    // A WebSocket that is granted stays open.
    if (answer.startsWith('HTTP/1.1 101 ')) socket.destroy();
  });
  socket.write([...lines, '', ''].join('\r\n'));
  await once(socket, 'close');
  return answer;
}

t.test('foreign names and pages get nothing of a process, neither answers nor a WebSocket', async (t) => {
  const { url, desktopToken } = await startWorld(t);
  const ours = `Host: ${new URL(url).host}`;
  const get = (...lines: string[]) => say(url, ['GET /openapi.json HTTP/1.1', ...lines, 'Connection: close']);
  t.match(await get(ours), /^HTTP\/1\.1 200 /);
  t.match(await get('Host: evil.example'), /^HTTP\/1\.1 421 /);
  const upgrade = (...lines: string[]) =>
    say(url, [
      `GET ${TRPC_PATH} HTTP/1.1`,
      ...lines,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      `Authorization: Bearer ${desktopToken}`,
    ]);
  t.match(await upgrade(ours), /^HTTP\/1\.1 101 /);
  t.match(await upgrade('Host: evil.example'), /^HTTP\/1\.1 403 .*--public-url/s);
  t.match(await upgrade(ours, 'Origin: https://evil.example'), /^HTTP\/1\.1 403 .*page of another site/s);
});
