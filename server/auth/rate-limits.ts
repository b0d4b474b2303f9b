/**
 * How often somebody may try or ask: passwords, codes, registrations, requests.
 *
 * Owns the buckets. They are in memory: a restart gives everybody a full one, and it takes longer than it gives. A limit
 * counts per caller, who is an address or somebody known, and where it says so also, with a larger number, for all callers
 * together, so that many addresses help little.
 */
import type { Clock } from '../../protocol/ports.ts';
import { limitKey } from './client-address.ts';

export interface RateLimit {
  /** Tries in a row. */
  readonly burst: number;
  /** One more try after each of these. */
  readonly refillMs: number;
  /** What all callers together have, as a multiple of one; left out where each is counted alone. */
  readonly together?: number;
}

/** Larger bursts help who guesses; smaller ones hit people who mistype, and clients that share an address. */
export const RATE_LIMITS = {
  /** A password with 12 characters: 5 at once, then 120 an hour for each address. */
  login: { burst: 5, refillMs: 30_000, together: 8 },
  /** A code of 8 letters (34 bits) that lives ten minutes. Only a logged-in owner can type one. */
  'user-code': { burst: 10, refillMs: 10_000, together: 4 },
  /** Each makes a row that lives for ten minutes. */
  'device-code': { burst: 10, refillMs: 15_000, together: 5 },
  /** Each makes a row that lives for a month. Hosted clients register many users from one address. */
  registration: { burst: 20, refillMs: 30_000, together: 5 },
  /** Each makes the relay fetch a document from a stranger. */
  'client-metadata': { burst: 10, refillMs: 10_000, together: 5 },
  /** Tokens have 256 bits, so this only saves the disk. Hosted clients refresh for many users from one address. */
  token: { burst: 120, refillMs: 250, together: 5 },
  /** Each makes rows that live for an hour. */
  authorize: { burst: 60, refillMs: 5_000, together: 5 },
  /**
   * A request whose token opens nothing. Nobody guesses 256 bits, so this saves the work of an answer. Clients that share
   * an address come with an old token once an hour each.
   */
  'bad-token': { burst: 60, refillMs: 1_000, together: 10 },
} as const satisfies Record<string, RateLimit>;

export type RateLimitName = keyof typeof RATE_LIMITS;

interface Bucket {
  tokens: number;
  /** Monotonic. */
  filledAt: number;
}

/**
 * The bucket that was not looked at for the longest time is forgotten when there are so many. More: memory. Fewer: who
 * comes from many addresses gets full buckets again.
 */
const BUCKETS_MAX = 10_000;

interface Counted extends RateLimit {
  readonly key: string;
}

export class RateLimits<Name extends string = RateLimitName> {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #limits: Readonly<Record<Name, RateLimit | null>>;
  /** The one that was looked at last is the last. */
  readonly #buckets = new Map<string, Bucket>();

  /** A limit that is null is off. */
  constructor(clock: Pick<Clock, 'monotonic'>, limits: Readonly<Record<Name, RateLimit | null>>) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Takes one try, or so many as `tries` says. Returns after how many seconds the next one is allowed when there is none;
   * null when this one is. `caller`: an address, or the id of somebody known.
   */
  take(name: Name, caller: string, tries = 1): number | null {
    const counted = this.#countedBy(name, caller);
    const waitMs = Math.max(0, ...counted.map((limit) => this.#waitMs(limit, tries)));
    if (waitMs > 0) return Math.ceil(waitMs / 1_000);
    for (const limit of counted) this.#bucket(limit).tokens -= Math.min(tries, limit.burst);
    return null;
  }

  /** A try that succeeded does not count. */
  giveBack(name: Name, caller: string): void {
    for (const { key } of this.#countedBy(name, caller)) {
      const bucket = this.#buckets.get(key);
      if (bucket !== undefined) bucket.tokens += 1;
    }
  }

  #countedBy(name: Name, caller: string): Counted[] {
    const limit = this.#limits[name];
    if (limit === null) return [];
    const { burst, refillMs, together } = limit;
    const one = { key: `${name} ${limitKey(caller)}`, burst, refillMs };
    if (together === undefined) return [one];
    return [one, { key: `${name} *`, burst: burst * together, refillMs: refillMs / together }];
  }

  /** More than a full bucket holds is allowed when it is full: otherwise it would never be. */
  #waitMs(limit: Counted, tries: number): number {
    const missing = Math.min(tries, limit.burst) - this.#bucket(limit).tokens;
    return missing <= 0 ? 0 : missing * limit.refillMs;
  }

  #bucket({ key, burst, refillMs }: Counted): Bucket {
    const now = this.#clock.monotonic();
    const { tokens, filledAt } = this.#buckets.get(key) ?? { tokens: burst, filledAt: now };
    const bucket = { tokens: Math.min(burst, tokens + (now - filledAt) / refillMs), filledAt: now };
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (this.#buckets.size > BUCKETS_MAX) this.#forgetOldest();
    return bucket;
  }

  /** Never one that counts for all: many addresses must not be able to push it out. */
  #forgetOldest(): void {
    for (const key of this.#buckets.keys()) {
      if (key.endsWith(' *')) continue;
      this.#buckets.delete(key);
      return;
    }
  }
}
