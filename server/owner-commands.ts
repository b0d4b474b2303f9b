/** What `graph-relay owner` does: asks the running relay, over its local socket, which only its owner can open. */
import { ExitError } from '../protocol/host/exit-codes.ts';
import { localCallError, localClient } from '../protocol/host/local-calls.ts';
import { dataDirectory } from '../protocol/host/process.ts';
import { note, print } from '../protocol/host/terminal.ts';
import type { RelayLocalRouter } from './local-api.ts';

export async function printOwnerLink({ data }: { readonly data?: string }): Promise<void> {
  const client = localClient<RelayLocalRouter>(dataDirectory(data, 'server'));
  const link = await client.ownerLink.mutate().catch((error: unknown) => {
    throw localCallError(error) ?? new ExitError('failure', 'No relay runs on this data folder. Start it first.');
  });
  if (link === null) throw new ExitError('failure', 'Logins are closed on this relay; its log says why.');
  print(link);
  note('Whoever opens it first chooses the password of the owner; an older link is not good any more.');
}
