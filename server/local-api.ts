/** What the owner's command line may ask of the running relay: tokens, how it is, and a link to become its owner. On the local socket only. */
import { z } from 'zod';
import { localTrpc } from '../protocol/host/local-calls.ts';
import { answering } from '../protocol/trpc-errors.ts';
import type { Access } from './access.ts';
import { type ShownLimit, shownLimits } from './owner-limits.ts';
import type { Relay } from './relay.ts';
import type { TokenRow } from './rows.ts';

/** A token without its hash, as it is shown. */
export type ShownToken = Omit<TokenRow, 'hash'>;

export interface RelayStatus {
  readonly url: string;
  readonly sockets: number;
  readonly writable: boolean;
  /** What is wrong with its disk; null while all is well. */
  readonly trouble: string | null;
  readonly limits: readonly ShownLimit[];
}

/** A relay that serves. */
export interface RunningRelay {
  readonly url: string;
  readonly snapshot: Relay['snapshot'];
  readonly ownerLink: () => string | null;
}

export interface RelayAdmin {
  /** Where the relay listens; null when it does not run. */
  address(): Promise<string | null>;
  /** Null when it does not run. */
  status(): Promise<RelayStatus | null>;
  createToken(request: {
    kind: 'agent' | 'desktop';
    name: string;
    projects: string[];
  }): Promise<{ token: string; row: ShownToken }>;
  listTokens(): Promise<ShownToken[]>;
  revokeToken(idOrName: string): Promise<ShownToken | null>;
  /** A new token for the same agent or desktop; null when there is none of this id or name. */
  rotateToken(idOrName: string): Promise<{ token: string; row: ShownToken } | null>;
  /** A new one-time link to the page where the owner's password is chosen; null where there are no logins. */
  ownerLink(): Promise<string | null>;
}

export function createRelayAdmin(access: Access, running: RunningRelay | null): RelayAdmin {
  const shown = ({ hash: _hash, ...row }: TokenRow): ShownToken => row;
  return {
    address: async () => running?.url ?? null,
    status: async () => (running === null ? null : statusOf(running)),
    async createToken(request) {
      const { token, row } = await access.createToken(request);
      return { token, row: shown(row) };
    },
    listTokens: async () => access.listTokens().map(shown),
    async revokeToken(idOrName) {
      const row = await access.revokeToken(idOrName);
      return row === null ? null : shown(row);
    },
    async rotateToken(idOrName) {
      const rotated = await access.rotateToken(idOrName);
      return rotated === null ? null : { token: rotated.token, row: shown(rotated.row) };
    },
    ownerLink: async () => running?.ownerLink() ?? null,
  };
}

function statusOf({ url, snapshot }: RunningRelay): RelayStatus {
  const { sockets, store, limits } = snapshot();
  return { url, sockets, writable: store.writable, trouble: store.reason, limits: shownLimits(limits) };
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
    status: procedure.mutation(() => answering(admin.status())),
    createToken: procedure.input(tokenRequestSchema).mutation(({ input }) => answering(admin.createToken(input))),
    listTokens: procedure.mutation(() => answering(admin.listTokens())),
    ownerLink: procedure.mutation(() => answering(admin.ownerLink())),
    revokeToken: procedure.input(z.string()).mutation(({ input }) => answering(admin.revokeToken(input))),
    rotateToken: procedure.input(z.string()).mutation(({ input }) => answering(admin.rotateToken(input))),
  });
}

export type RelayLocalRouter = ReturnType<typeof createRelayLocalRouter>;
