/** A connection that is dead and looks open, over real sockets. The limits are short here; the waits are for events. */
import { once } from 'node:events';
import t from 'tap';
import { WebSocket } from 'ws';
import { startFaultProxy } from './fault-proxy.ts';
import { startDesktop, startRelay, waitFor } from './rig.ts';

const RELAY_TIMES = { socketSilenceMs: 300, socketPongMs: 200 };
const DESKTOP_TIMES = { pingMs: 250, pongMs: 200 };
/** A hang, and no limit on speed. */
const HANG_MS = 60_000;

t.test('a WebSocket in a black hole is ended by both sides, and the queued run arrives once (C14)', async (t) => {
  const relay = await startRelay(t, { limits: RELAY_TIMES });
  const proxy = await startFaultProxy({ target: relay.port });
  t.teardown(() => proxy.close());
  const token = await relay.desktopToken();
  const desktop = await startDesktop(t, { url: proxy.url, token, mode: 'websocket', times: DESKTOP_TIMES });
  await desktop.connected('websocket', HANG_MS);
  const presence = async () => (await relay.read(first)).desktop;
  const first = await relay.queue(desktop.sessionId);
  await relay.ended(first, HANG_MS);
  t.match(await presence(), { online: true, transport: 'websocket' });

  // No FIN and no RST, in either direction, and nobody else gets through.
  proxy.faults = { refuse: true };
  proxy.swallowOpen();
  await waitFor('the relay to see that nobody is there', HANG_MS, async () =>
    (await presence()).online ? null : true,
  );
  await waitFor('the end of the socket', HANG_MS, async () => (relay.openSockets() === 0 ? true : null));
  const second = await relay.queue(desktop.sessionId);
  t.match(await relay.read(second), { status: 'queued', timing: { offered_at: null }, desktop: { online: false } });
  await waitFor('the desktop to see it too', HANG_MS, async () => (desktop.agent.snapshot().connected ? null : true));

  proxy.faults = {};
  t.match(await relay.ended(second, HANG_MS), { status: 'completed' });
  t.match(await presence(), { online: true, transport: 'websocket' });
  t.equal(desktop.runs.get(second), 1);
});

t.test('any WebSocket answers the relay by itself, and lives on', async (t) => {
  const relay = await startRelay(t, { limits: { socketSilenceMs: 20, socketPongMs: 2_000 } });
  const headers = { authorization: `Bearer ${await relay.desktopToken()}` };
  const socket = new WebSocket(`${relay.url.replace('http', 'ws')}/trpc`, { headers });
  t.teardown(() => socket.terminate());
  await once(socket, 'ping');
  // The next one is sent when the first has been answered.
  await once(socket, 'ping');
  t.equal(socket.readyState, WebSocket.OPEN);
});

t.test('a relay that stops is not held up by a WebSocket in a black hole', async (t) => {
  const relay = await startRelay(t, { limits: { socketCloseMs: 50 } });
  const proxy = await startFaultProxy({ target: relay.port });
  t.teardown(() => proxy.close());
  const token = await relay.desktopToken();
  const desktop = await startDesktop(t, { url: proxy.url, token, mode: 'websocket' });
  await desktop.connected('websocket', HANG_MS);
  proxy.swallowOpen();
  await relay.relay.drain();
  await waitFor('the end of the socket', HANG_MS, async () => (relay.openSockets() === 0 ? true : null));
  t.pass('ws by itself waits for 30 s');
});
