/** What the owner's command line may ask of the running relay: tokens, and a link to become its owner. Served on the local socket only. */
import { z } from 'zod';
import { localTrpc } from '../protocol/host/local-calls.ts';
import { answering } from '../protocol/trpc-errors.ts';
import type { Access } from './access.ts';
import type { TokenRow } from './rows.ts';

/** A token without its hash, as it is shown. */
export type ShownToken = Omit<TokenRow, 'hash'>;

export interface RelayAdmin {
  /** Where the relay listens; null when it does not run. */
  address(): Promise<string | null>;
  createToken(request: {
    kind: 'agent' | 'desktop';
    name: string;
    projects: string[];
  }): Promise<{ token: string; row: ShownToken }>;
  listTokens(): Promise<ShownToken[]>;
  revokeToken(idOrName: string): Promise<ShownToken | null>;
  /** A new one-time link to the page where the owner's password is chosen; null where there are no logins. */
  ownerLink(): Promise<string | null>;
}

export interface RelayPlace {
  /** Where the relay listens; null when it does not run. */
  readonly address: string | null;
  readonly ownerLink: () => string | null;
}

export function createRelayAdmin(access: Access, { address, ownerLink }: RelayPlace): RelayAdmin {
  const shown = ({ hash: _hash, ...row }: TokenRow): ShownToken => row;
  return {
    address: async () => address,
    async createToken(request) {
      const { token, row } = await access.createToken(request);
      return { token, row: shown(row) };
    },
    listTokens: async () => access.listTokens().map(shown),
    async revokeToken(idOrName) {
      const row = await access.revokeToken(idOrName);
      return row === null ? null : shown(row);
    },
    ownerLink: async () => ownerLink(),
  };
}

const tokenRequestSchema = z.object({
  kind: z.enum(['agent', 'desktop']),
  name: z.string(),
  projects: z.array(z.string()),
});

export function createRelayLocalRouter(admin: RelayAdmin) {
  const { router, procedure } = localTrpc;
  return router({
    address: procedure.mutation(() => answering(admin.address())),
    createToken: procedure.input(tokenRequestSchema).mutation(({ input }) => answering(admin.createToken(input))),
    listTokens: procedure.mutation(() => answering(admin.listTokens())),
    ownerLink: procedure.mutation(() => answering(admin.ownerLink())),
    revokeToken: procedure.input(z.string()).mutation(({ input }) => answering(admin.revokeToken(input))),
  });
}

export type RelayLocalRouter = ReturnType<typeof createRelayLocalRouter>;
