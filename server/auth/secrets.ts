/** What is done with secrets everywhere: they are kept as hashes, and compared in constant time. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A value that only who knows `key` can have made for this purpose. */
export function derived(key: string, purpose: string): string {
  return createHmac('sha256', key).update(purpose).digest('base64url');
}

/** Takes the same time whatever differs; the hash makes both sides equally long. */
export function equalSecrets(one: string, other: string): boolean {
  const bytes = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(bytes(one), bytes(other));
}
