/** Chance and identities from a seed: the same seed gives the same numbers on every machine. */
import type { Ids, Random } from '../../protocol/ports.ts';

/** mulberry32: 32 bits of state, good enough for delays and jitter, and the same everywhere. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
    },
  };
}

/**
 * A stream of chance of its own for each name. What one part of a world draws then never depends on what another part
 * did in the same instant.
 */
export function namedRandom(seed: number, name: string): Random {
  let hash = (seed ^ 0x811c9dc5) >>> 0;
  for (let index = 0; index < name.length; index++) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193) >>> 0;
  return seededRandom(Math.imul(hash ^ (hash >>> 16), 0x85ebca6b));
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export function seededIds(random: Random): Ids {
  const hex = (bytes: number) => {
    let text = '';
    for (let index = 0; index < bytes; index++) text += HEX[Math.floor(random.next() * 256)];
    return text;
  };
  return {
    hex,
    uuid() {
      const digits = hex(16);
      const variant = '89ab'[Number.parseInt(digits[16]!, 16) & 3];
      return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-${variant}${digits.slice(17, 20)}-${digits.slice(20)}`;
    },
  };
}
