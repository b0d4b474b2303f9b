/**
 * When a model's service is asked again within one call, and when not.
 *
 * Owns the number of tries and the pauses. Asked again: too many requests (429), a time-out of the service (408), its own
 * failures (5xx), a connection that was cut. Not: nobody listens, wrong key, wrong model, no credit; those stay as they are.
 */
import { APICallError } from '@ai-sdk/provider';
import type { Clock, Random } from '../../../protocol/ports.ts';
import { pause } from './pause.ts';

/** More: a call that cannot work takes longer to say so. A Graph has `retry` for what should take longer. */
export const MODEL_TRIES = 3;
/** A service that wants a longer pause is not waited for. Longer: an agent hangs without a word. */
export const LONGEST_PAUSE_MS = 60_000;
/** The first pause where the service names none; the next is four times as long. Half of it is chance. */
const FIRST_PAUSE_MS = 2_000;
const PAUSE_GROWTH = 4;
/** Added to what a service names, by chance: agents that were refused together should not come back together. */
const SPREAD_MS = 500;

export interface RetryParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Aborted when the answer is not wanted any more: then nothing is waited for. */
  readonly signal: AbortSignal;
}

export async function askAgain<T>(call: () => Promise<T>, parts: RetryParts): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      const waitMs = tries < MODEL_TRIES ? pauseAfter(error, tries, parts) : null;
      if (waitMs === null) throw error;
      await pause(parts.clock, waitMs, parts.signal);
    }
  }
}

function pauseAfter(error: unknown, tries: number, { clock, random }: RetryParts): number | null {
  if (!APICallError.isInstance(error) || !mayPass(error)) return null;
  const wanted = wantedPause(error, clock.now());
  if (wanted === null) return FIRST_PAUSE_MS * PAUSE_GROWTH ** (tries - 1) * (0.5 + random.next() / 2);
  return wanted > LONGEST_PAUSE_MS ? null : wanted + random.next() * SPREAD_MS;
}

function mayPass(error: APICallError): boolean {
  if (error.statusCode === undefined) return ['ECONNRESET', 'EPIPE'].includes(networkCode(error) ?? '');
  return error.isRetryable && !isOutOfCredit(error);
}

/** OpenAI answers with 429 here too, and no pause helps. */
export function isOutOfCredit(error: APICallError): boolean {
  return error.statusCode === 402 || /\binsufficient_quota\b/.test(error.responseBody ?? '');
}

/** How long the service wants to be left alone (`retry-after`, `retry-after-ms`); null when it says nothing usable. */
export function wantedPause(error: APICallError, now: number): number | null {
  const { 'retry-after-ms': inMs, 'retry-after': after } = error.responseHeaders ?? {};
  if (inMs && Number(inMs) >= 0) return Number(inMs);
  if (!after) return null;
  const ms = Number(after) >= 0 ? Number(after) * 1_000 : Date.parse(after) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}

/** The system's code (`ECONNREFUSED`) of this error or of what caused it. */
export function networkCode(error: unknown): string | null {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    const { code } = current as NodeJS.ErrnoException;
    if (typeof code === 'string' && /^[A-Z][A-Z\d_]+$/.test(code)) return code;
  }
  return null;
}
