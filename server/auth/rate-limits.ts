/**
 * How often somebody may try: passwords, codes, registrations.
 *
 * Owns the buckets. They are in memory: a restart gives everybody a full one, and it takes longer than it gives. Each
 * limit counts per address and, with a larger number, for all addresses together, so that many addresses help little.
 */
import { getOrMake } from '../../protocol/collections.ts';
import type { Clock } from '../../protocol/ports.ts';
import { limitKey } from './client-address.ts';

export interface RateLimit {
  /** Tries in a row. */
  readonly burst: number;
  /** One more try after each of these. */
  readonly refillMs: number;
  /** What all addresses together have, as a multiple of one address. */
  readonly together: number;
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
} as const satisfies Record<string, RateLimit>;

export type RateLimitName = keyof typeof RATE_LIMITS;

interface Bucket {
  tokens: number;
  /** Monotonic. */
  filledAt: number;
}

/** Buckets that are full again are forgotten when there are so many. */
const BUCKETS_MAX = 10_000;

export class RateLimits {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Takes one try. Returns after how many seconds the next one is allowed when there is none; null when this one is. */
  take(name: RateLimitName, address: string): number | null {
    const { burst, refillMs, together } = RATE_LIMITS[name];
    const all = { key: `${name} *`, burst: burst * together, refillMs: refillMs / together };
    const one = { key: `${name} ${limitKey(address)}`, burst, refillMs };
    const waits = [one, all].map((limit) => this.#waitMs(limit));
    const waitMs = Math.max(...waits);
    if (waitMs > 0) return Math.ceil(waitMs / 1_000);
    for (const limit of [one, all]) this.#bucket(limit).tokens -= 1;
    return null;
  }

  /** A try that succeeded does not count. */
  giveBack(name: RateLimitName, address: string): void {
    for (const key of [`${name} ${limitKey(address)}`, `${name} *`]) {
      const bucket = this.#buckets.get(key);
      if (bucket !== undefined) bucket.tokens += 1;
    }
  }

  #waitMs(limit: { key: string; burst: number; refillMs: number }): number {
    const { tokens } = this.#bucket(limit);
    return tokens >= 1 ? 0 : (1 - tokens) * limit.refillMs;
  }

  #bucket({ key, burst, refillMs }: { key: string; burst: number; refillMs: number }): Bucket {
    const now = this.#clock.monotonic();
    if (this.#buckets.size >= BUCKETS_MAX) this.#forgetOldest();
    const bucket = getOrMake(this.#buckets, key, () => ({ tokens: burst, filledAt: now }));
    bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.filledAt) / refillMs);
    bucket.filledAt = now;
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
