/**
 * Who was let in by consent: agents and desktops, one for each grant.
 *
 * Owns the table `connection`, and what an access token stands for. Checked in this process at every request, so a
 * removal works at once: there is no token that lives on by itself. Must not know how consent was given.
 */
import { DESKTOP_SCOPE } from '../../protocol/pairing.ts';
import type { Ports, StateStore } from '../../protocol/ports.ts';
import type { DesktopPrincipal } from '../access.ts';
import type { AgentPrincipal, AgentScope } from '../agent-api.ts';
import type { ConnectionRow, RelayTables } from '../rows.ts';
import type { OAuthStore } from './oauth-store.ts';
import { AGENT_RESOURCE, AGENT_SCOPES, DESKTOP_RESOURCE } from './places.ts';

/** A grant that nothing can be done with any more is kept for so long: its code may just be on its way. */
const UNUSED_MS = 60 * 60_000;

export type NewConnection = Omit<ConnectionRow, 'connectionId' | 'createdAt'>;

export interface ConnectionsOptions {
  readonly store: StateStore<RelayTables>;
  readonly ports: Pick<Ports, 'clock' | 'ids' | 'log'>;
  readonly oauth: OAuthStore;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #byGrant = new Map<string, ConnectionRow>();
  #onRemoved: (row: ConnectionRow) => void = () => {};

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    for (const row of this.#rows.values()) this.#byGrant.set(row.grantId, row);
  }

  get #rows(): ReadonlyMap<string, ConnectionRow> {
    return this.#options.store.rows('connection');
  }

  /** Called with each connection that ends, before the disk knows. */
  onRemoved(listener: (row: ConnectionRow) => void): void {
    this.#onRemoved = listener;
  }

  list(kind: ConnectionRow['kind']): ConnectionRow[] {
    return [...this.#rows.values()].filter((row) => row.kind === kind).sort((a, b) => b.createdAt - a.createdAt);
  }

  get(connectionId: string): ConnectionRow | null {
    return this.#rows.get(connectionId) ?? null;
  }

  #hasClient(clientId: string): boolean {
    return [...this.#rows.values()].some((row) => row.clientId === clientId);
  }

  /**
   * Resolves when it would survive a crash. `replaces`: the connection whose place and identity it takes, for a desktop
   * that is paired again and still has the same Graphs.
   */
  async add(given: NewConnection, replaces: ConnectionRow | null = null): Promise<ConnectionRow> {
    const { ports, store, oauth } = this.#options;
    const connectionId = replaces?.connectionId ?? ports.ids.uuid();
    const row: ConnectionRow = { ...given, connectionId, createdAt: ports.clock.now() };
    if (replaces !== null) {
      this.#byGrant.delete(replaces.grantId);
      this.#onRemoved(replaces);
    }
    this.#byGrant.set(row.grantId, row);
    const missing = row.projects.filter((projectId) => !store.rows('project').has(projectId));
    await store.commit([
      ...missing.map(
        (projectId) => ({ table: 'project', id: projectId, row: { projectId, createdAt: row.createdAt } }) as const,
      ),
      { table: 'connection', id: connectionId, row },
    ]);
    await oauth.keepClient(row.clientId, true);
    if (replaces !== null) await oauth.revokeGrant(replaces.grantId);
    ports.log.info('connection.added', { ...shown(row), replaced: replaces !== null });
    return row;
  }

  /** Ends a connection at once: its tokens open nothing any more, and what it holds open ends. */
  async remove({ connectionId }: ConnectionRow, reason: string): Promise<void> {
    const { store, ports, oauth } = this.#options;
    const row = this.get(connectionId);
    if (row === null) return;
    this.#byGrant.delete(row.grantId);
    const saved = store.commit([{ table: 'connection', id: connectionId, row: null }]);
    this.#onRemoved(row);
    await Promise.all([saved, oauth.revokeGrant(row.grantId)]);
    if (!this.#hasClient(row.clientId)) await oauth.keepClient(row.clientId, false);
    ports.log.info('connection.removed', { ...shown(row), reason });
  }

  /** The grant has ended: given back by its client, or revoked since one of its tokens was used twice. */
  async grantEnded(grantId: string, reason: string): Promise<void> {
    const row = this.#byGrant.get(grantId);
    if (row !== undefined) await this.remove(row, reason);
  }

  /** Removes what has no valid token left. */
  async sweep(): Promise<void> {
    const { oauth, ports } = this.#options;
    const before = ports.clock.now() - UNUSED_MS;
    const unused = [...this.#rows.values()].filter((row) => row.createdAt < before && !oauth.isInUse(row.grantId));
    for (const row of unused) await this.remove(row, 'not used any more');
    await oauth.forget([...oauth.orphans(this.#byGrant.keys(), before)]);
  }

  // Bound, since they are handed on as plain functions.
  agentOf = (bearer: string): AgentPrincipal | null => {
    const found = this.#connectionOf(bearer, AGENT_RESOURCE);
    if (found === null) return null;
    const { row, scopes } = found;
    const granted = AGENT_SCOPES.filter((scope) => scopes.includes(scope) && row.scopes.includes(scope));
    return { agentId: row.connectionId, name: row.name, projects: row.projects, scopes: granted as AgentScope[] };
  };

  desktopOf = (bearer: string): DesktopPrincipal | null => {
    const found = this.#connectionOf(bearer, DESKTOP_RESOURCE);
    if (!found?.scopes.includes(DESKTOP_SCOPE)) return null;
    return { desktopId: found.row.connectionId, name: found.row.name };
  };

  #connectionOf(bearer: string, audience: string): { row: ConnectionRow; scopes: readonly string[] } | null {
    if (bearer === '') return null;
    const token = this.#options.oauth.find('AccessToken', bearer);
    if (token?.aud !== audience || typeof token.grantId !== 'string') return null;
    const row = this.#byGrant.get(token.grantId);
    const kind = audience === AGENT_RESOURCE ? 'agent' : 'desktop';
    if (row?.kind !== kind) return null;
    return { row, scopes: String(token.scope ?? '').split(' ') };
  }
}

function shown({ connectionId, kind, clientId, name, projects, scopes }: ConnectionRow) {
  return { connection_id: connectionId, kind, client_id: clientId, name, projects, scopes };
}
