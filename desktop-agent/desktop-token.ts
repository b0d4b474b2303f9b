/** The desktop's token, from the environment or from its data folder. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ExitError } from '../protocol/host/exit-codes.ts';

export const TOKEN_VARIABLE = 'GRAPH_RELAY_TOKEN';
/** Where the desktop's token is kept when the environment does not bring one; mode 0600. */
export const TOKEN_FILE = 'token';

export async function readToken(directory: string): Promise<string> {
  const fromEnvironment = process.env[TOKEN_VARIABLE]?.trim();
  if (fromEnvironment) return fromEnvironment;
  const path = join(directory, TOKEN_FILE);
  const text = await readFile(path, 'utf8').catch(() => '');
  if (text.trim() !== '') return text.trim();
  throw new ExitError(
    'unauthorized',
    `This desktop has no token. On the relay, run \`graph-relay token create --desktop NAME\`, then put what it prints into ${TOKEN_VARIABLE} or into ${path}.`,
  );
}
