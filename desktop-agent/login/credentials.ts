/**
 * The token of this desktop as it is now, and how it becomes a new one.
 *
 * Owns that there is one refresh on its way at a time, shared by all calls, and that no failure ever takes the place of a
 * newer login: what is in the store is looked at again before it is replaced or given up. Must not send any call of the
 * desktop.
 */
import { asRelayError } from '../../protocol/errors.ts';
import type { Clock, Log } from '../../protocol/ports.ts';
import type { LoginStore, StoredLogin } from './login-file.ts';
import type { OAuthCalls } from './oauth-calls.ts';

/** A token that ends sooner is renewed before it is used, so that no call is refused in the middle of its work. */
const RENEW_BEFORE_MS = 60_000;

export interface Credentials {
  /** The access token as it is now. */
  token(): string;
  /** Renews the token when it ends soon. Never rejects but with `unauthorized`: an old token may still be good. */
  ready(): Promise<void>;
  /**
   * The relay has refused this token: resolves when there is another one. Rejects with `unauthorized` when there is none
   * to be had, and with what kept the refresh from being answered otherwise.
   */
  refused(token: string): Promise<void>;
}

export interface RenewedCredentialsOptions {
  readonly login: StoredLogin;
  readonly store: LoginStore;
  readonly calls: Pick<OAuthCalls, 'refresh'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
}

export function renewedCredentials(options: RenewedCredentialsOptions): Credentials {
  return new RenewedCredentials(options);
}

class RenewedCredentials implements Credentials {
  readonly #options: RenewedCredentialsOptions;
  #login: StoredLogin;
  /** What was last seen in the store. Anything else there was put by a newer login. */
  #seen: string;
  #flight: Promise<void> | null = null;

  constructor(options: RenewedCredentialsOptions) {
    this.#options = options;
    this.#login = options.login;
    this.#seen = options.login.refreshToken;
  }

  // Bound, since they are handed on as plain functions.
  token = (): string => this.#login.accessToken;

  ready = async (): Promise<void> => {
    if (!this.#endsSoon()) return;
    await this.#renew().catch((error: unknown) => {
      const { code, message } = asRelayError(error);
      if (code === 'unauthorized') throw error;
      this.#options.log.debug('login.not-renewed', { code, reason: message });
    });
  };

  refused = async (token: string): Promise<void> => {
    // Another call may have renewed it while this one was on its way.
    if (token === this.#login.accessToken) await this.#renew();
  };

  #endsSoon(): boolean {
    return this.#login.expiresAt - this.#options.clock.now() <= RENEW_BEFORE_MS;
  }

  #renew(): Promise<void> {
    this.#flight ??= this.#renewOnce().finally(() => {
      this.#flight = null;
    });
    return this.#flight;
  }

  async #renewOnce(): Promise<void> {
    // Another process on this folder, or a new login, may have been here: an old refresh token would end them all.
    if ((await this.#adoptNewer(this.#login)) && !this.#endsSoon()) return;
    const used = this.#login;
    try {
      const tokens = await this.#options.calls.refresh(used.refreshToken);
      await this.#keep(used, { ...tokens, relay: used.relay });
      this.#options.log.debug('login.renewed', { expires_at: new Date(this.#login.expiresAt).toISOString() });
    } catch (error) {
      if (asRelayError(error).code !== 'unauthorized' || !(await this.#adoptNewer(used))) throw error;
    }
  }

  /** Somebody may have logged in anew meanwhile: then theirs is the one that stays. */
  async #keep(used: StoredLogin, renewed: StoredLogin): Promise<void> {
    if (await this.#adoptNewer(used)) return;
    this.#login = renewed;
    // The calls can go on even if the disk refuses; only a restart would then need a new login.
    try {
      await this.#options.store.write(renewed);
      this.#seen = renewed.refreshToken;
    } catch (error) {
      this.#options.log.warn('login.not-saved', { err: error });
    }
  }

  async #adoptNewer(used: StoredLogin): Promise<boolean> {
    const stored = await this.#options.store.read().catch(() => null);
    if (stored === null || stored.relay !== used.relay || stored.refreshToken === this.#seen) return false;
    this.#login = stored;
    this.#seen = stored.refreshToken;
    this.#options.log.info('login.replaced');
    return true;
  }
}
