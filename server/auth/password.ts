/**
 * The owner's password as it is kept: scrypt of node:crypto, with the parameters beside it, so that they can grow.
 *
 * Owns the parameters and the rules for a new password. A hash takes 128 MiB and most of a core: {@link Owner} makes one at
 * a time, so that somebody who tries passwords cannot take more than that.
 */
import { scrypt, timingSafeEqual } from 'node:crypto';
import type { PasswordHash } from '../rows.ts';

/**
 * N = 2^17, r = 8, p = 1: the first choice of the OWASP Password Storage Cheat Sheet for scrypt (128 MiB, about half a
 * second). Smaller: guessing gets cheaper. Larger: a login takes the memory of a small machine.
 */
export const SCRYPT_COST = 2 ** 17;
const BLOCK_SIZE = 8;
const PARALLELIZATION = 1;
const HASH_BYTES = 32;
export const SALT_BYTES = 16;

/** NIST SP 800-63B asks for 8, and for 15 where it is the only factor; a long one is easier to have than a mixed one. */
const PASSWORD_MIN_CHARS = 12;
/** Longer texts only cost time. */
const PASSWORD_MAX_CHARS = 256;

/** What is wrong with a new password; null when it may be taken. */
export function passwordProblem(password: string): string | null {
  const length = [...normalised(password)].length;
  if (length < PASSWORD_MIN_CHARS) return `A password has at least ${PASSWORD_MIN_CHARS} characters. A few words do.`;
  if (length > PASSWORD_MAX_CHARS) return `A password has up to ${PASSWORD_MAX_CHARS} characters.`;
  if (new Set(password).size < 5) return 'This password is one that is tried first. Take a few words instead.';
  return null;
}

export async function hashPassword(
  password: string,
  { salt, cost }: { salt: Buffer; cost: number },
): Promise<PasswordHash> {
  const parameters = { cost, blockSize: BLOCK_SIZE, parallelization: PARALLELIZATION };
  const hash = await derive(password, salt, parameters);
  return { kdf: 'scrypt', ...parameters, salt: salt.toString('base64url'), hash: hash.toString('base64url') };
}

export async function isPassword(password: string, { salt, hash, ...parameters }: PasswordHash): Promise<boolean> {
  if (password.length > 4 * PASSWORD_MAX_CHARS) return false;
  const derived = await derive(password, Buffer.from(salt, 'base64url'), parameters);
  return timingSafeEqual(derived, Buffer.from(hash, 'base64url'));
}

interface Parameters {
  readonly cost: number;
  readonly blockSize: number;
  readonly parallelization: number;
}

function derive(password: string, salt: Buffer, { cost, blockSize, parallelization }: Parameters): Promise<Buffer> {
  // Node's own ceiling of 32 MiB is below what is used here; the memory is 128 * cost * blockSize bytes.
  const options = { cost, blockSize, parallelization, maxmem: 256 * cost * blockSize };
  return new Promise((done, failed) => {
    scrypt(normalised(password), salt, HASH_BYTES, options, (error, key) => (error ? failed(error) : done(key)));
  });
}

/** The same password typed on another keyboard may come in another form of the same characters. */
function normalised(password: string): string {
  return password.normalize('NFKC');
}
