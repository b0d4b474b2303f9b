/**
 * The file that holds the login of this desktop.
 *
 * Owns its form, its mode (only its owner may read it), and that a write replaces it whole or not at all. A lost write
 * would cost the login: the relay takes an old refresh token for a minute only.
 */
import { join } from 'node:path';
import { nodeDisk } from '../../protocol/host/state/node-disk.ts';
import type { Tokens } from './oauth-calls.ts';

export const LOGIN_FILE = 'login.json';

export interface StoredLogin extends Tokens {
  /** The origin of the relay that the tokens are for; they are sent nowhere else. */
  readonly relay: string;
}

/** Where a login is kept. */
export interface LoginStore {
  read(): Promise<StoredLogin | null>;
  write(login: StoredLogin): Promise<void>;
}

export function loginFile(directory: string): LoginStore {
  const path = join(directory, LOGIN_FILE);

  async function read(): Promise<StoredLogin | null> {
    const bytes = await nodeDisk.read(path);
    return bytes === null ? null : parse(bytes.toString());
  }

  async function write(login: StoredLogin): Promise<void> {
    await nodeDisk.makeDirectory(directory);
    const temporary = `${path}.${nodeDisk.uniqueSuffix()}`;
    // The disk makes every file readable by its owner alone.
    const file = await nodeDisk.open(temporary, 'new');
    try {
      const bytes = Buffer.from(`${JSON.stringify(login)}\n`);
      let written = 0;
      while (written < bytes.length) written += await file.write(bytes.subarray(written), written);
      await file.sync();
    } finally {
      await file.close();
    }
    await nodeDisk.rename(temporary, path);
    await nodeDisk.syncDirectory(directory);
  }

  return { read, write };
}

/** A damaged file is as good as none: its owner logs in anew. */
function parse(text: string): StoredLogin | null {
  try {
    const login = JSON.parse(text) as StoredLogin;
    const { relay, accessToken, refreshToken, expiresAt } = login;
    const isWhole = [relay, accessToken, refreshToken].every((each) => typeof each === 'string' && each !== '');
    return isWhole && typeof expiresAt === 'number' ? { relay, accessToken, refreshToken, expiresAt } : null;
  } catch {
    return null;
  }
}
