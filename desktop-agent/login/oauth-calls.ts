/**
 * The calls of a login: ask for a code, ask whether it was confirmed, get new tokens for old.
 *
 * Owns what the relay's answers mean. Must not keep anything.
 */
import { RelayError } from '../../protocol/errors.ts';
import {
  DESKTOP_CLIENT,
  DESKTOP_NAME_PARAMETER,
  DEVICE_CODE_PATH,
  DEVICE_GRANT,
  TOKEN_PATH,
} from '../../protocol/pairing.ts';
import type { Clock } from '../../protocol/ports.ts';

/** Tokens as the relay gives them, with the instant at which the first one ends. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresAt: number;
}

export interface DeviceCode {
  readonly deviceCode: string;
  readonly userCode: string;
  /** Where the owner types the code. */
  readonly verificationUri: string;
  readonly expiresAt: number;
  readonly intervalMs: number;
}

/** `pending`: the owner has not decided yet. `slow-down`: ask less often. */
export type PollAnswer = Tokens | 'pending' | 'slow-down' | 'refused' | 'expired';

export interface OAuthCallsOptions {
  readonly relay: string;
  readonly clock: Clock;
  readonly fetch: (input: string | URL, init?: RequestInit) => Promise<Response>;
}

export interface OAuthCalls {
  requestCode(desktopName: string): Promise<DeviceCode>;
  poll(deviceCode: string): Promise<PollAnswer>;
  /** Rejects with `unauthorized` when the relay does not take this login any more, and only then. */
  refresh(refreshToken: string): Promise<Tokens>;
}

/** Login servers are quick; what takes this long will not come. */
const CALL_MS = 15_000;

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export function createOAuthCalls(options: OAuthCallsOptions): OAuthCalls {
  const { relay, clock } = options;
  const post = (path: string, form: Record<string, string>) => postForm(options, path, form);

  async function requestCode(desktopName: string): Promise<DeviceCode> {
    const answer = await post(DEVICE_CODE_PATH, { [DESKTOP_NAME_PARAMETER]: desktopName });
    const { device_code, user_code, verification_uri, expires_in, interval = 5 } = answer.body;
    if (answer.status !== 200) throw failure(answer, relay);
    return {
      deviceCode: String(device_code),
      userCode: String(user_code),
      verificationUri: String(verification_uri),
      expiresAt: clock.now() + Number(expires_in) * 1_000,
      intervalMs: Number(interval) * 1_000,
    };
  }

  async function poll(deviceCode: string): Promise<PollAnswer> {
    const answer = await post(TOKEN_PATH, { grant_type: DEVICE_GRANT, device_code: deviceCode });
    if (answer.status === 200) return tokensIn(answer, options);
    if (answer.status === 429) return 'slow-down';
    const meaning = POLL_ERRORS[String(answer.body.error)];
    if (meaning === undefined) throw failure(answer, relay);
    return meaning;
  }

  async function refresh(refreshToken: string): Promise<Tokens> {
    const answer = await post(TOKEN_PATH, { grant_type: 'refresh_token', refresh_token: refreshToken });
    if (answer.status === 200) return tokensIn(answer, options);
    if (answer.body.error === 'invalid_grant' || answer.body.error === 'invalid_client') {
      throw new RelayError('unauthorized', LOGIN_ENDED);
    }
    throw failure(answer, relay);
  }

  return { requestCode, poll, refresh };
}

/** RFC 8628. A code that was used or has been forgotten is as good as one that grew old. */
const POLL_ERRORS: Readonly<Record<string, PollAnswer>> = {
  authorization_pending: 'pending',
  slow_down: 'slow-down',
  access_denied: 'refused',
  expired_token: 'expired',
  invalid_grant: 'expired',
};

async function postForm(
  { relay, clock, fetch }: OAuthCallsOptions,
  path: string,
  form: Record<string, string>,
): Promise<Answer> {
  const abort = new AbortController();
  const timer = clock.after(CALL_MS, () => abort.abort());
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  const body = String(new URLSearchParams({ client_id: DESKTOP_CLIENT, ...form }));
  try {
    const response = await fetch(new URL(path, relay), { method: 'POST', headers, body, signal: abort.signal });
    return { status: response.status, body: await jsonOf(response, relay) };
  } catch (error) {
    if (error instanceof RelayError) throw error;
    throw new RelayError('unreachable', `${relay} cannot be reached: ${(error as Error).message}.`, { cause: error });
  } finally {
    timer.cancel();
  }
}

async function jsonOf(response: Response, relay: string): Promise<Record<string, unknown>> {
  try {
    const body: unknown = JSON.parse(await response.text());
    if (typeof body === 'object' && body !== null) return body as Record<string, unknown>;
  } catch {
    // A page of somebody else's, or of a relay that knows no login.
  }
  const message = `${relay} answered with status ${response.status} and no JSON. Is it a relay, and the address right?`;
  throw new RelayError('not-a-relay', message);
}

function tokensIn({ body }: Answer, { relay, clock }: OAuthCallsOptions): Tokens {
  const { access_token, refresh_token, expires_in } = body;
  if (typeof access_token !== 'string' || typeof refresh_token !== 'string' || typeof expires_in !== 'number') {
    throw new RelayError('not-a-relay', `The answer of ${relay} has no tokens in it. Is the address right?`);
  }
  return { accessToken: access_token, refreshToken: refresh_token, expiresAt: clock.now() + expires_in * 1_000 };
}

function failure({ status, body }: Answer, relay: string): RelayError {
  const said = String(body.error_description ?? body.error ?? 'no reason');
  if (status === 404) return new RelayError('not-a-relay', `${relay} knows no login. Update it, or use a token.`);
  if (status === 429) return new RelayError('too-many-held', `${relay} was asked too often. Wait a minute.`);
  return new RelayError('unreachable', `${relay} answered with status ${status}: ${said.slice(0, 300)}`);
}

export const LOGIN_ENDED =
  'The relay does not take the login of this desktop any more: its owner removed it, or it was not used for too long. Run `graph-relay desktop login` to pair it again.';
