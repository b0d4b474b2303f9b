/**
 * Which versions of the protocol a desktop names: the usual one, several with one that the relay speaks among them, or
 * only such as it does not speak.
 *
 * Owns the texts and how often each comes. Whether they fit is said again, apart from this, in `checkers/versions.ts`.
 */
import type { Contract } from '../history.ts';
import type { Dice } from './dice.ts';

interface Names {
  /** Null: the program names none, as the published system does. */
  readonly usual: string | null;
  readonly mixed: readonly (string | null)[];
  readonly unknown: readonly string[];
}

const NAMES: Readonly<Record<Contract, Names>> = {
  trpc: { usual: '2', mixed: ['1', '1, 2', '2, 3', '9,2,1'], unknown: ['3', '0', '3, 4', '22'] },
  'plain-json': { usual: null, mixed: ['1', '1, 2', '0, 1'], unknown: ['2', '0', '2, 3'] },
};

export function usualNames(contract: Contract): string | null {
  return NAMES[contract].usual;
}

/** Whether a desktop that names these has a version in common with the relay. */
export function isServed(contract: Contract, names: string | null): boolean {
  return !NAMES[contract].unknown.some((unknown) => unknown === names);
}

/** `mixed` and `unknown` are shares; the rest is usual. */
export function drawNames(dice: Dice, contract: Contract, shares: { mixed: number; unknown: number }): string | null {
  const { usual, mixed, unknown } = NAMES[contract];
  const isMixed = dice.chance(shares.mixed);
  const isUnknown = dice.chance(shares.unknown);
  const [oneMixed, oneUnknown] = [dice.pick(mixed), dice.pick(unknown)];
  return isUnknown ? oneUnknown : isMixed ? oneMixed : usual;
}
