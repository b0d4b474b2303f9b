/**
 * What lets this desktop in: a token from the environment, its login, or a token from its data folder, in this order.
 *
 * Owns the order, and the words for a desktop that has none.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ExitError } from '../../protocol/host/exit-codes.ts';
import type { Clock, Log } from '../../protocol/ports.ts';
import type { HttpClient } from '../dialer/http-client.ts';
import type { Dialers } from '../transports.ts';
import { renewedCredentials } from './credentials.ts';
import { loginFile } from './login-file.ts';
import { createOAuthCalls } from './oauth-calls.ts';
import { renewingDialers } from './renewing-dialers.ts';

export const TOKEN_VARIABLE = 'GRAPH_RELAY_TOKEN';
/** Where a token of the command line is kept when the environment does not bring one; mode 0600. */
export const TOKEN_FILE = 'token';

export interface DesktopAccess {
  /** The token as it is now. */
  readonly token: () => string;
  /** Resolves when the token is good for a minute at least, as far as can be known. */
  readonly ready: () => Promise<void>;
  /** The same dialers, with whatever keeps the token good. */
  readonly keeping: (dialers: Dialers) => Dialers;
}

export interface DesktopAccessOptions {
  readonly directory: string;
  /** The relay's address. A login is good for one relay only. */
  readonly relay: string;
  readonly client: Pick<HttpClient, 'fetch'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
}

export async function openAccess(options: DesktopAccessOptions): Promise<DesktopAccess> {
  const { directory, relay, client, clock, log } = options;
  const fromEnvironment = process.env[TOKEN_VARIABLE]?.trim();
  if (fromEnvironment) return fixed(fromEnvironment);
  const store = loginFile(directory);
  const login = await store.read();
  const { origin } = new URL(relay);
  if (login?.relay === origin) {
    const calls = createOAuthCalls({ relay, clock, fetch: client.fetch });
    const credentials = renewedCredentials({ login, store, calls, clock, log });
    const { token, ready } = credentials;
    return { token, ready, keeping: (dialers) => renewingDialers(dialers, credentials) };
  }
  const path = join(directory, TOKEN_FILE);
  const text = await readFile(path, 'utf8').catch(() => '');
  if (text.trim() !== '') return fixed(text.trim());
  throw new ExitError('unauthorized', login === null ? noAccess(path) : otherRelay(login.relay, origin));
}

function fixed(token: string): DesktopAccess {
  return { token: () => token, ready: async () => {}, keeping: (dialers) => dialers };
}

function noAccess(path: string): string {
  return `This desktop has no token. Run \`graph-relay desktop login\` to pair it; or, on the relay, run \`graph-relay token create --desktop NAME\`, then put what it prints into ${TOKEN_VARIABLE} or into ${path}.`;
}

function otherRelay(known: string, asked: string): string {
  return `This desktop is paired with ${known}, and its login is sent nowhere else. Run \`graph-relay desktop login --relay ${asked}\` to pair it with ${asked}.`;
}
