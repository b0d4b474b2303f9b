/** A process that probes a relay over both transports, with the trust that its arguments and environment give it. */
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { createHttpClient } from '../../desktop-agent/dialer/http-client.ts';
import { openSocket } from '../../desktop-agent/dialer/open-socket.ts';
import { trustAlso } from '../../desktop-agent/dialer/trust.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';

const [url = '', token = '', ca = ''] = process.argv.slice(2);
trustAlso(ca === '' ? undefined : ca);
const client = createHttpClient({ clock: systemClock, environment: process.env });
const dialers = createDialers({ url, token: () => token, clock: systemClock, open: openSocket, ...client });
for (const transport of ['long-poll', 'websocket'] as const) {
  const signal = AbortSignal.timeout(10_000);
  const said = await dialers[transport].probe({ hold_ms: 0 }, { signal }).then(
    () => 'answered',
    (error: Error) => error.message,
  );
  process.stdout.write(`${transport}: ${said}\n`);
}
process.exit();
