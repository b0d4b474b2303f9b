/** `graph-relay desktop doctor`: measures the path, says what it means, and exits by it. */
import { EXIT_CODES } from '../protocol/host/exit-codes.ts';
import { createProcessLog } from '../protocol/host/logging.ts';
import { dataDirectory } from '../protocol/host/process.ts';
import { systemClock } from '../protocol/host/system-ports.ts';
import { note, print } from '../protocol/host/terminal.ts';
import type { Clock } from '../protocol/ports.ts';
import { createDialers } from './dialer/dialers.ts';
import { createHttpClient } from './dialer/http-client.ts';
import { createOpenSocket } from './dialer/open-socket.ts';
import { type ProxyEnvironment, proxyFor, shownProxy } from './dialer/proxy-settings.ts';
import { trustAlso } from './dialer/trust.ts';
import { measurePath, type PathReport } from './doctor-measure.ts';
import { doctorText } from './doctor-text.ts';
import { judgePath, type Verdict } from './doctor-verdict.ts';
import { openAccess } from './login/desktop-access.ts';

export interface DoctorOptions {
  readonly relay: string;
  readonly data?: string;
  readonly ca?: string;
  readonly json?: boolean;
}

export interface DoctorReport {
  readonly relay: string;
  /** The proxy that the environment names for the relay, without its password. */
  readonly proxy: string | null;
  readonly path: PathReport;
  readonly verdict: Verdict;
}

export async function runDoctor({ relay, data, ca, json = false }: DoctorOptions): Promise<void> {
  trustAlso(ca);
  const client = createHttpClient({ clock: systemClock, environment: process.env });
  const log = createProcessLog({ component: 'doctor', level: 'warn', terminal: true, fd: 2 });
  const directory = dataDirectory(data, 'desktop');
  const access = await openAccess({ directory, relay, client, clock: systemClock, log });
  await access.ready();
  if (!json) note('Measuring the way to the relay. This takes about 25 seconds.');
  const report = await examine({ relay, token: access.token(), environment: process.env, clock: systemClock });
  print(json ? JSON.stringify(report) : doctorText(report));
  process.exitCode = exitCodeOf(report);
}

export async function examine(options: {
  relay: string;
  token: string;
  environment: ProxyEnvironment;
  clock: Clock;
}): Promise<DoctorReport> {
  const { relay, token, environment, clock } = options;
  const client = createHttpClient({ clock, environment });
  const open = createOpenSocket(environment);
  const dialers = createDialers({ url: relay, token: () => token, clock, open, ...client });
  const path = await measurePath({ clock, dialers, signal: new AbortController().signal });
  for (const dialer of Object.values(dialers)) dialer.renew?.();
  const proxy = proxyFor(relay, environment);
  return { relay, proxy: proxy && shownProxy(proxy), path, verdict: judgePath(path) };
}

function exitCodeOf({ path, verdict }: DoctorReport): number {
  if (verdict.transport !== null) return EXIT_CODES.ok;
  return path.failure?.code === 'unauthorized' ? EXIT_CODES.unauthorized : EXIT_CODES.failure;
}
