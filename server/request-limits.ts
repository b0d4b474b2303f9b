/**
 * How many requests somebody may send: an agent, a desktop, and whoever comes with tokens that open nothing.
 *
 * Owns who is counted by what, and what the one too many is told. Who somebody is, is decided before; what a request
 * does, after. A token that opens something is never refused for what else comes from its address.
 */
import { RelayError } from '../protocol/errors.ts';
import type { Clock, Log } from '../protocol/ports.ts';
import { RATE_LIMITS, type RateLimit, RateLimits } from './auth/rate-limits.ts';
import { sha256 } from './auth/secrets.ts';
import type { RelayLimits } from './relay-limits.ts';

export interface RequestLimitsOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
  readonly limits: Pick<RelayLimits, 'requestsPerAgent' | 'requestsPerDesktop'>;
}

export type CallerKind = 'agent' | 'desktop';

const MINUTE_MS = 60_000;

/** One line of the log for each caller in a minute: a flood must not fill the disk. */
const LINES: RateLimit = { burst: 1, refillMs: MINUTE_MS };

/**
 * Tokens that were good once and are not now are counted each for itself, not by address: their clients have to hear that
 * they must renew them, whatever else comes from there. More: memory. Fewer: where very many clients share an address that
 * floods, one whose hour is over hears of it later.
 */
const ONCE_GOOD_MAX = 10_000;

const WHAT_NOW: Readonly<Record<CallerKind, string>> = {
  agent: 'get_graph_run with wait_seconds waits for news in one request.',
  desktop: 'a held sync waits for commands in one request.',
};

export class RequestLimits {
  readonly #log: Log;
  readonly #perMinute: Readonly<Record<CallerKind, number>>;
  readonly #callers: RateLimits<CallerKind>;
  /** Apart from the callers: who comes from many addresses pushes out addresses only. */
  readonly #guesses: RateLimits<'bad-token'>;
  readonly #lines: RateLimits<'line'>;
  /** As hashes. The one that was used last is the last. */
  readonly #onceGood = new Set<string>();

  constructor({ clock, log, limits }: RequestLimitsOptions) {
    this.#log = log;
    this.#perMinute = { agent: limits.requestsPerAgent, desktop: limits.requestsPerDesktop };
    this.#callers = new RateLimits(clock, {
      agent: perMinute(limits.requestsPerAgent),
      desktop: perMinute(limits.requestsPerDesktop),
    });
    this.#guesses = new RateLimits(clock, { 'bad-token': RATE_LIMITS['bad-token'] });
    this.#lines = new RateLimits(clock, { line: LINES });
  }

  /** Counts requests of somebody who is known. Throws `too-many-requests` when there were too many before. */
  admit(kind: CallerKind, id: string, requests = 1): void {
    const seconds = this.#callers.take(kind, id, requests);
    if (seconds === null) return;
    this.#tell(id, { kind, [`${kind}_id`]: id, wait_seconds: seconds });
    throw tooMany(
      `This ${kind} may send ${this.#perMinute[kind]} requests a minute, and sends more. Try again in ${inWords(seconds)}, and ask less often: ${WHAT_NOW[kind]}`,
      seconds,
    );
  }

  /** This token opens something. */
  opened(bearer: string): void {
    const hash = sha256(bearer);
    this.#onceGood.delete(hash);
    this.#onceGood.add(hash);
    if (this.#onceGood.size > ONCE_GOOD_MAX) this.#onceGood.delete(this.#onceGood.values().next().value as string);
  }

  /** This token opens nothing. Throws `too-many-requests` when too many of them came from there. */
  openedNothing(bearer: string, address: string): void {
    const hash = sha256(bearer);
    const seconds = this.#guesses.take('bad-token', this.#onceGood.has(hash) ? hash : address);
    if (seconds === null) return;
    this.#tell(address, { kind: 'bad-token', address, wait_seconds: seconds });
    throw tooMany(
      `Too many requests came from this address with tokens that open nothing. Try again in ${inWords(seconds)}, with a good one: log in again, or ask the owner for a new token.`,
      seconds,
    );
  }

  #tell(caller: string, fields: Readonly<Record<string, unknown>>): void {
    if (this.#lines.take('line', caller) === null) this.#log.warn('door.limited', fields);
  }
}

function perMinute(requests: number): RateLimit | null {
  return requests === 0 ? null : { burst: requests, refillMs: MINUTE_MS / requests };
}

function tooMany(message: string, retryAfterSeconds: number): RelayError {
  return new RelayError('too-many-requests', message, { retryAfterSeconds });
}

function inWords(seconds: number): string {
  return seconds === 1 ? 'a second' : `${seconds} seconds`;
}
