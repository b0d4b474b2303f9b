/**
 * What the authorization server remembers, in the relay's own durable state.
 *
 * Owns the rows of the table `oauth` and their indexes. An answer goes out when its rows are on disk, so codes, tokens,
 * clients, grants and half-finished flows survive a restart. Expiry is a stored instant that is looked at when it
 * matters; sweeping only saves space. The id of a code, token or session is the secret itself: rows are kept under its
 * hash, so the data folder opens nothing. Must not decide who gets what.
 */
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { getOrMake } from '../../protocol/collections.ts';
import type { Clock, StateStore, StoreChange } from '../../protocol/ports.ts';
import type { OAuthRow, RelayTables } from '../rows.ts';
import { sha256 } from './secrets.ts';

/**
 * A refresh token that was used may be used again for so long. Clients lose answers, and several processes of one
 * client refresh at once; shorter, and they have to log in again. Longer, and a stolen token is noticed later.
 */
export const REFRESH_REUSE_MS = 60_000;

/** A used refresh token is remembered for so long, so that its reuse ends the grant. Longer costs rows. */
const USED_TOKEN_MS = 7 * 24 * 60 * 60_000;

/** A client that nobody has consented to, or not any more, is kept for so long. */
export const UNUSED_CLIENT_MS = 30 * 24 * 60 * 60_000;

/** And so many of them: anybody may register. Fewer: a stranger could push out one that is just being connected. */
export const UNUSED_CLIENTS_MAX = 1_000;

/** What must be used once even by two requests at the same moment. */
const USED_ONCE: ReadonlySet<string> = new Set(['AuthorizationCode', 'DeviceCode']);

export interface OAuthStoreOptions {
  readonly store: StateStore<RelayTables>;
  readonly clock: Pick<Clock, 'now'>;
}

/** A row that is looked at and changed without its secret. */
export interface FoundRow {
  readonly rowId: string;
  readonly row: OAuthRow;
}

type Index = 'uid' | 'userCode' | 'grantId';
const INDEXES: readonly Index[] = ['uid', 'userCode', 'grantId'];

export class OAuthStore {
  readonly #store: StateStore<RelayTables>;
  readonly #clock: Pick<Clock, 'now'>;
  /** Row ids by what else they are looked up by. */
  readonly #indexes: Readonly<Record<Index, Map<string, Set<string>>>> = {
    uid: new Map(),
    userCode: new Map(),
    grantId: new Map(),
  };

  constructor({ store, clock }: OAuthStoreOptions) {
    this.#store = store;
    this.#clock = clock;
    for (const [rowId, row] of store.rows('oauth')) this.#index(rowId, row);
  }

  /** The storage of one model, in the shape that oidc-provider asks for. `usedTwice`: refuses the second use of a code. */
  adapter(model: string, usedTwice: (grantId: string | undefined) => Error): Adapter {
    return {
      upsert: (id, payload, expiresIn) => this.#upsert(rowIdOf(model, id), { model, payload, expiresIn }),
      find: async (id) => this.find(model, id),
      findByUid: async (uid) => this.#findByUid(model, uid),
      // Codes that a person types are looked up by our own page.
      findByUserCode: async () => undefined,
      consume: (id) => this.#consume(rowIdOf(model, id), usedTwice),
      destroy: (id) => this.#remove([rowIdOf(model, id)]),
      revokeByGrantId: (grantId) => this.#remove(this.#ofGrant(grantId, model)),
    };
  }

  /** What is stored under this id and still valid. */
  find(model: string, id: string): AdapterPayload | undefined {
    const row = this.#live(rowIdOf(model, id));
    if (row === undefined) return undefined;
    const isUsed = row.consumedAt !== null && !this.#isReusable(row);
    return { ...row.payload, jti: id, ...(isUsed && { consumed: Math.floor((row.consumedAt ?? 0) / 1_000) }) };
  }

  /** The request of a desktop that shows this code to its owner. */
  deviceCode(userCode: string): FoundRow | undefined {
    for (const rowId of this.#indexes.userCode.get(userCode) ?? []) {
      const row = this.#live(rowId);
      if (row?.model === 'DeviceCode') return { rowId, row };
    }
    return undefined;
  }

  /** Adds to what is stored. Resolves when it is on disk. */
  async amend({ rowId, row }: FoundRow, changes: Readonly<Record<string, unknown>>): Promise<void> {
    const amended: OAuthRow = { ...row, payload: { ...row.payload, ...changes } };
    this.#unindex(rowId, row);
    this.#index(rowId, amended);
    await this.#store.commit([{ table: 'oauth', id: rowId, row: amended }]);
  }

  /** Whether something can still be done with this grant: a token or a code of it is valid. */
  isInUse(grantId: string): boolean {
    return this.#ofGrant(grantId).some((rowId) => this.#live(rowId) !== undefined);
  }

  /** Ends a grant and everything that came from it, at once in memory. Resolves when it would survive a crash. */
  revokeGrant(grantId: string): Promise<void> {
    return this.#remove([...this.#ofGrant(grantId), rowIdOf('Grant', grantId)]);
  }

  /** Row ids of what has expired. */
  *expired(): Generator<string> {
    for (const [rowId, row] of this.#store.rows('oauth')) if (this.#isExpired(row)) yield rowId;
  }

  /** A client with a connection does not expire; one that has none any more does. */
  async keepClient(clientId: string, isUsed: boolean): Promise<void> {
    const id = rowIdOf('Client', clientId);
    const row = this.#live(id);
    if (row === undefined) return;
    const expiresAt = isUsed ? null : this.#clock.now() + UNUSED_CLIENT_MS;
    await this.#store.commit([{ table: 'oauth', id, row: { ...row, expiresAt } }]);
  }

  /** Row ids of grants that are none of these, and older: what a consent left behind that did not come to its end. */
  *orphans(grantIds: Iterable<string>, madeBefore: number): Generator<string> {
    const known = new Set([...grantIds].map((grantId) => rowIdOf('Grant', grantId)));
    for (const [rowId, { model, payload }] of this.#store.rows('oauth')) {
      const isOld = typeof payload.iat === 'number' && payload.iat * 1_000 < madeBefore;
      if (model === 'Grant' && isOld && !known.has(rowId)) yield rowId;
    }
  }

  forget(rowIds: readonly string[]): Promise<void> {
    return this.#remove(rowIds);
  }

  async #upsert(
    rowId: string,
    { model, payload, expiresIn }: { model: string; payload: AdapterPayload; expiresIn: number | undefined },
  ) {
    const { jti: _secret, consumed: _derived, ...kept } = payload;
    const before = this.#store.rows('oauth').get(rowId);
    const isNewClient = model === 'Client' && before === undefined;
    const lifeMs = isNewClient ? UNUSED_CLIENT_MS : expiresIn === undefined ? null : expiresIn * 1_000;
    if (isNewClient) await this.#makeRoomForClient();
    const row: OAuthRow = {
      model,
      payload: kept,
      expiresAt: lifeMs === null ? null : this.#clock.now() + lifeMs,
      consumedAt: before?.consumedAt ?? null,
    };
    if (before !== undefined) this.#unindex(rowId, before);
    this.#index(rowId, row);
    await this.#store.commit([{ table: 'oauth', id: rowId, row }]);
  }

  async #consume(rowId: string, usedTwice: (grantId: string | undefined) => Error): Promise<void> {
    const row = this.#live(rowId);
    // Its grant was revoked in the moment since it was found.
    if (row === undefined) throw usedTwice(undefined);
    if (row.consumedAt !== null) {
      if (USED_ONCE.has(row.model)) throw usedTwice(grantOf(row));
      return;
    }
    const now = this.#clock.now();
    const expiresAt = Math.min(row.expiresAt ?? Number.POSITIVE_INFINITY, now + USED_TOKEN_MS);
    await this.#store.commit([{ table: 'oauth', id: rowId, row: { ...row, consumedAt: now, expiresAt } }]);
  }

  async #makeRoomForClient(): Promise<void> {
    const unused = [...this.#store.rows('oauth')].filter(([, row]) => row.model === 'Client' && row.expiresAt !== null);
    unused.sort(([, a], [, b]) => (a.expiresAt ?? 0) - (b.expiresAt ?? 0));
    await this.#remove(unused.slice(0, Math.max(0, unused.length + 1 - UNUSED_CLIENTS_MAX)).map(([rowId]) => rowId));
  }

  /** Such a session is looked at only, so it needs no id. */
  #findByUid(model: string, uid: string): AdapterPayload | undefined {
    for (const rowId of this.#indexes.uid.get(uid) ?? []) {
      const row = this.#live(rowId);
      if (row?.model === model) return { ...row.payload };
    }
    return undefined;
  }

  #live(rowId: string): OAuthRow | undefined {
    const row = this.#store.rows('oauth').get(rowId);
    return row === undefined || this.#isExpired(row) ? undefined : row;
  }

  #isExpired({ expiresAt }: OAuthRow): boolean {
    return expiresAt !== null && expiresAt <= this.#clock.now();
  }

  #isReusable({ model, consumedAt }: OAuthRow): boolean {
    return model === 'RefreshToken' && consumedAt !== null && this.#clock.now() - consumedAt <= REFRESH_REUSE_MS;
  }

  #ofGrant(grantId: string, model?: string): string[] {
    const all = [...(this.#indexes.grantId.get(grantId) ?? [])];
    return model === undefined ? all : all.filter((rowId) => this.#store.rows('oauth').get(rowId)?.model === model);
  }

  async #remove(rowIds: readonly string[]): Promise<void> {
    const changes: StoreChange<RelayTables>[] = [];
    for (const id of rowIds) {
      const row = this.#store.rows('oauth').get(id);
      if (row === undefined) continue;
      this.#unindex(id, row);
      changes.push({ table: 'oauth', id, row: null });
    }
    if (changes.length > 0) await this.#store.commit(changes);
  }

  #index(rowId: string, row: OAuthRow): void {
    for (const index of INDEXES) {
      const value = row.payload[index];
      if (typeof value === 'string') getOrMake(this.#indexes[index], value, () => new Set<string>()).add(rowId);
    }
  }

  #unindex(rowId: string, row: OAuthRow): void {
    for (const index of INDEXES) {
      const value = row.payload[index];
      if (typeof value !== 'string') continue;
      const rowIds = this.#indexes[index].get(value);
      rowIds?.delete(rowId);
      if (rowIds?.size === 0) this.#indexes[index].delete(value);
    }
  }
}

function rowIdOf(model: string, id: string): string {
  return `${model}:${sha256(id)}`;
}

function grantOf({ payload }: OAuthRow): string | undefined {
  return typeof payload.grantId === 'string' ? payload.grantId : undefined;
}
