import { type AddressInfo, connect, createServer } from 'node:net';
import t, { type Test } from 'tap';
import type { Fetch } from '../../bench/sim/network.ts';
import { Meter } from '../../bench/virtual/meter.ts';
import { meteredFetch, meteredSockets } from '../../bench/virtual/metered-path.ts';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { createHttpClient } from '../../desktop-agent/dialer/http-client.ts';
import { openSocket } from '../../desktop-agent/dialer/open-socket.ts';
import type { Dialer } from '../../desktop-agent/ports.ts';
import { systemClock, systemIds } from '../../protocol/host/system-ports.ts';
import { type RelayRig, startRelay } from '../faults/rig.ts';
import { wireDesktop } from '../faults/wire.ts';

/** Passes bytes on and counts them, in both directions. */
async function countingProxy(t: Test, port: number) {
  let bytes = 0;
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (chunk) => {
        bytes += chunk.length;
        to.write(chunk);
      });
      from.on('close', () => to.destroy());
      from.on('error', () => to.destroy());
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bytes: () => bytes };
}

/** The production client hands on one header of an answer. In virtual time the relay's own answer is there, with all. */
async function withAllHeaders(relay: RelayRig, token: string, fetch: Fetch): Promise<Fetch> {
  const desktop = wireDesktop(relay.url, token);
  const body = JSON.stringify(desktop.syncInput());
  const request = new Request(`${relay.url}/trpc/relay.sync`, { method: 'POST', headers: desktop.headers(), body });
  const all = [...(await relay.relay.fetch(request)).headers];
  return async (input, init) => {
    const answer = await fetch(input, init);
    for (const [name, value] of all) answer.headers.set(name, value);
    return answer;
  };
}

async function talk(dialer: Dialer, desktop: ReturnType<typeof wireDesktop>): Promise<void> {
  const at = { signal: new AbortController().signal };
  const ids = { command_id: systemIds.uuid(), execution_id: systemIds.uuid() };
  await dialer.sync(desktop.syncInput(), at);
  await dialer.probe({ hold_ms: 5 }, at);
  await dialer.control({ ...ids, phase: 'running', hold_ms: 0 }, at);
  // An error is an answer, too.
  await dialer.complete({ ...ids, status: 'completed', result: '図書館'.repeat(100) }, at).catch(() => {});
}

for (const transport of ['long-poll', 'websocket'] as const) {
  t.test(`the bytes that are counted in virtual time are those on a real connection (${transport})`, async (t) => {
    const relay = await startRelay(t);
    const proxy = await countingProxy(t, relay.port);
    const token = await relay.desktopToken();
    const meter = new Meter(systemClock);
    meter.on();
    const client = createHttpClient({ clock: systemClock, environment: {} });
    t.teardown(client.renew);
    const dialers = createDialers({
      url: proxy.url,
      token: () => token,
      clock: systemClock,
      fetch: meteredFetch(meter, await withAllHeaders(relay, token, client.fetch)),
      open: meteredSockets(meter, openSocket),
    });
    await talk(dialers[transport], wireDesktop(proxy.url, token));
    t.equal(meter.counted.requests, 4);
    t.equal(meter.counted.bytes, proxy.bytes());
    dialers[transport].renew?.();
  });
}
