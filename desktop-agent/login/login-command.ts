/**
 * `graph-relay desktop login`: shows a code, waits until the owner has confirmed it, and keeps the login.
 *
 * Owns the words, and when to ask again.
 */
import { hostname } from 'node:os';
import { EXIT_CODES, ExitError } from '../../protocol/host/exit-codes.ts';
import { dataDirectory } from '../../protocol/host/process.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { note, print } from '../../protocol/host/terminal.ts';
import type { Clock } from '../../protocol/ports.ts';
import { pause } from '../../protocol/waiting.ts';
import { createHttpClient } from '../dialer/http-client.ts';
import { trustAlso } from '../dialer/trust.ts';
import { TOKEN_VARIABLE } from './desktop-access.ts';
import { loginFile } from './login-file.ts';
import { createOAuthCalls, type DeviceCode, type OAuthCalls, type Tokens } from './oauth-calls.ts';

export interface LoginOptions {
  readonly relay: string;
  readonly data?: string;
  readonly ca?: string;
  /** What the owner sees as this desktop's name; the machine's name otherwise. */
  readonly name?: string;
  /** The code as one line of JSON, for a program that shows it. */
  readonly json?: boolean;
}

/** RFC 8628: what `slow_down` adds to the pause. */
const SLOWER_MS = 5_000;

export async function loginDesktop({ relay, data, ca, json, name = hostname() }: LoginOptions): Promise<void> {
  trustAlso(ca);
  const { fetch } = createHttpClient({ clock: systemClock, environment: process.env });
  const calls = createOAuthCalls({ relay, clock: systemClock, fetch });
  const code = await calls.requestCode(name);
  showCode(code, json === true);
  const tokens = await untilConfirmed(calls, code, systemClock);
  await loginFile(dataDirectory(data, 'desktop')).write({ ...tokens, relay: new URL(relay).origin });
  note(`Paired. \`graph-relay desktop --relay ${relay}\` needs no token now; one that runs uses it after a restart.`);
  if (process.env[TOKEN_VARIABLE]) note(`${TOKEN_VARIABLE} is set, and is used in its place: remove it.`);
  process.exitCode = EXIT_CODES.ok;
}

function showCode({ verificationUri, userCode, expiresAt }: DeviceCode, json: boolean): void {
  if (json) {
    const expires_at = new Date(expiresAt).toISOString();
    print(JSON.stringify({ verification_uri: verificationUri, user_code: userCode, expires_at }));
    return;
  }
  note('To pair this desktop, open this page in any browser, log in as the owner of the relay, and enter the code:');
  print(`  ${verificationUri}`);
  print(`  ${userCode}`);
  note('Waiting. The code is good for ten minutes.');
}

/** Asks as often as it was told. An error on the way is no answer: it asks again as long as the code is good. */
export async function untilConfirmed(
  calls: Pick<OAuthCalls, 'poll'>,
  { deviceCode, expiresAt, intervalMs }: DeviceCode,
  clock: Clock,
): Promise<Tokens> {
  const { signal } = new AbortController();
  let pauseMs = intervalMs;
  while (clock.now() < expiresAt) {
    await pause(clock, pauseMs, signal);
    const answer = await calls.poll(deviceCode).catch(() => 'pending' as const);
    if (typeof answer === 'object') return answer;
    if (answer === 'slow-down') pauseMs += SLOWER_MS;
    if (answer === 'refused') throw new ExitError('forbidden', 'The owner of the relay refused to pair this desktop.');
    if (answer === 'expired') break;
  }
  throw new ExitError('failure', 'The code was not confirmed in time. Run `graph-relay desktop login` again.');
}
