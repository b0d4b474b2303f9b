/**
 * Tokens: who may come in, as which agent or desktop.
 *
 * Owns the text and the storage of tokens. A token's text is shown once, when it is made; what is kept is its SHA-256,
 * and it is looked up by that, so how long a look-up takes tells nothing about a secret. One process has one access
 * object: it is the only writer of token rows. Must not know how a token was sent.
 */
import { createHash } from 'node:crypto';
import { RelayError } from '../protocol/errors.ts';
import { projectIdSchema } from '../protocol/ids.ts';
import type { Ports, StateStore, StoreChange } from '../protocol/ports.ts';
import type { AgentPrincipal, AgentScope } from './agent-api.ts';
import type { ProjectRow, RelayTables, TokenRow } from './rows.ts';

export type TokenKind = TokenRow['kind'];

export interface TokenRequest {
  readonly kind: TokenKind;
  /** What the owner calls the agent or desktop. */
  readonly name: string;
  /** What an agent may use; must be left out for a desktop, which serves all of its owner's projects. */
  readonly projects?: readonly string[];
}

export interface DesktopPrincipal {
  readonly desktopId: string;
  readonly name: string;
}

export interface Access {
  /** Makes a token. Resolves when it would survive a crash; its text cannot be had again. */
  createToken(request: TokenRequest): Promise<{ readonly token: string; readonly row: TokenRow }>;
  /** Ends a token at once, by its id or name. Null when there is none. */
  revokeToken(idOrName: string): Promise<TokenRow | null>;
  /**
   * Makes a new token for whom the token with this id or name stands, who stays who it is; the old one ends at once. Also
   * for a desktop whose token was revoked. Null when there is none.
   */
  rotateToken(idOrName: string): Promise<{ readonly token: string; readonly row: TokenRow } | null>;
  listTokens(): TokenRow[];
  /** The agent that a token stands for. */
  agentOf(bearer: string): AgentPrincipal | null;
  /** The desktop that a token stands for. */
  desktopOf(bearer: string): DesktopPrincipal | null;
}

export interface AccessOptions {
  readonly store: StateStore<RelayTables>;
  /** Without a log nothing is written down: a relay that does not run is its owner's affair. */
  readonly ports: Pick<Ports, 'clock' | 'ids'> & Partial<Pick<Ports, 'log'>>;
  /** Told each token that has just ended, so that what it has opened can end too. */
  readonly onRevoked?: (row: TokenRow) => void;
  /** The same for a token that another one has just taken the place of: whom it stands for goes on. */
  readonly onRotated?: (row: TokenRow) => void;
}

/** Marks a secret as ours, for people and for scanners of leaked secrets, and says which side it belongs to. */
const PREFIX: Readonly<Record<TokenKind, string>> = { agent: 'gra_', desktop: 'grd_' };

/** Bytes of chance in a token. Fewer than 16 could be guessed; more than 32 only make it longer. */
const SECRET_BYTES = 32;

const NAME_MAX_CHARS = 64;

/** Desktops with a revoked token that can get a new one, those that were revoked last. Fewer: older ones must start anew. */
const REVOKED_KEPT = 100;

/** A token of an owner gives its agent everything; narrower ones come from an authorization server. */
const AGENT_SCOPES: readonly AgentScope[] = ['osfoundry:read', 'osfoundry:run'];

export function createAccess(options: AccessOptions): Access {
  return new TokenAccess(options);
}

class TokenAccess implements Access {
  readonly #store: AccessOptions['store'];
  readonly #ports: AccessOptions['ports'];
  readonly #onRevoked: (row: TokenRow) => void;
  readonly #onRotated: (row: TokenRow) => void;
  readonly #byHash = new Map<string, TokenRow>();

  constructor({ store, ports, onRevoked = () => {}, onRotated = () => {} }: AccessOptions) {
    this.#store = store;
    this.#ports = ports;
    this.#onRevoked = onRevoked;
    this.#onRotated = onRotated;
    for (const row of this.#live()) this.#byHash.set(row.hash, row);
  }

  async createToken(request: TokenRequest) {
    const { kind } = request;
    const name = checkName(request.name);
    const projects = checkProjects(request);
    this.#refuseTakenName(kind, name);
    const { clock, ids } = this.#ports;
    const token = this.#newSecret(kind);
    const row: TokenRow = {
      tokenId: ids.uuid(),
      hash: hashOf(token),
      kind,
      subjectId: ids.uuid(),
      name,
      projects,
      createdAt: clock.now(),
    };
    await this.#commitToken(row);
    this.#byHash.set(row.hash, row);
    this.#ports.log?.info('token.created', shown(row));
    return { token, row };
  }

  async revokeToken(idOrName: string): Promise<TokenRow | null> {
    const row = this.#find(idOrName);
    if (row === null) return null;
    // Before the disk knows: a token that is being revoked must not open anything any more.
    this.#byHash.delete(row.hash);
    this.#onRevoked(row);
    const kept = row.kind === 'desktop' ? { ...row, hash: '', revokedAt: this.#ports.clock.now() } : null;
    const tooOld = kept === null ? [] : this.#revokedDesktops().slice(REVOKED_KEPT - 1);
    await this.#store.commit([
      { table: 'token', id: row.tokenId, row: kept },
      ...tooOld.map(({ tokenId }) => ({ table: 'token', id: tokenId, row: null }) as const),
    ]);
    this.#ports.log?.info('token.revoked', shown(row));
    return row;
  }

  async rotateToken(idOrName: string) {
    const before = this.#find(idOrName) ?? this.#findRevoked(idOrName);
    if (before === null) return null;
    const { revokedAt, ...same } = before;
    if (revokedAt !== undefined) this.#refuseTakenName(before.kind, before.name);
    const token = this.#newSecret(before.kind);
    const row: TokenRow = { ...same, hash: hashOf(token), createdAt: this.#ports.clock.now() };
    // Nobody knows the new one yet. Whoever revokes or rotates meanwhile finds it in place of the old one.
    this.#byHash.delete(before.hash);
    this.#byHash.set(row.hash, row);
    const isInPlace = () => this.#byHash.get(row.hash) === row;
    try {
      await this.#store.commit([{ table: 'token', id: row.tokenId, row }]);
    } catch (error) {
      if (isInPlace()) this.#putBack(before, row);
      throw error;
    }
    this.#onRotated(before);
    if (!isInPlace())
      throw new RelayError('invalid-input', 'Another command has changed this token at the same moment.');
    this.#ports.log?.info('token.rotated', shown(row));
    return { token, row };
  }

  listTokens(): TokenRow[] {
    return [...this.#live()].sort((a, b) => a.createdAt - b.createdAt);
  }

  // Bound, since they are handed on as plain functions.
  agentOf = (bearer: string): AgentPrincipal | null => {
    const row = this.#rowOf('agent', bearer);
    return row && { agentId: row.subjectId, name: row.name, projects: row.projects, scopes: AGENT_SCOPES };
  };

  desktopOf = (bearer: string): DesktopPrincipal | null => {
    const row = this.#rowOf('desktop', bearer);
    return row && { desktopId: row.subjectId, name: row.name };
  };

  #rowOf(kind: TokenKind, bearer: string): TokenRow | null {
    if (!bearer.startsWith(PREFIX[kind])) return null;
    const row = this.#byHash.get(hashOf(bearer));
    return row?.kind === kind ? row : null;
  }

  /** When the disk refuses, nobody learns the token: it is taken back, or it would block its name without being of use. */
  async #commitToken(row: TokenRow): Promise<void> {
    const projects = this.#store.rows('project');
    const missing = row.projects.filter((projectId) => !projects.has(projectId));
    try {
      await this.#store.commit([
        ...missing.map((projectId) => newProject(projectId, row.createdAt)),
        { table: 'token', id: row.tokenId, row },
      ]);
    } catch (error) {
      this.#store.commit([{ table: 'token', id: row.tokenId, row: null }]).catch(() => {});
      throw error;
    }
  }

  /** The disk refused, so nobody learns the new token, and the old one goes on. */
  #putBack(before: TokenRow, { hash }: TokenRow): void {
    this.#byHash.delete(hash);
    if (before.revokedAt === undefined) this.#byHash.set(before.hash, before);
    this.#store.commit([{ table: 'token', id: before.tokenId, row: before }]).catch(() => {});
  }

  #newSecret(kind: TokenKind): string {
    return PREFIX[kind] + this.#ports.ids.hex(SECRET_BYTES);
  }

  *#live(): Generator<TokenRow> {
    for (const row of this.#store.rows('token').values()) if (row.revokedAt === undefined) yield row;
  }

  /** The one that was revoked last comes first. */
  #revokedDesktops(): TokenRow[] {
    const revoked = [...this.#store.rows('token').values()].filter(({ revokedAt }) => revokedAt !== undefined);
    return revoked.sort((a, b) => (b.revokedAt ?? 0) - (a.revokedAt ?? 0));
  }

  #refuseTakenName(kind: TokenKind, name: string): void {
    if (!this.#isTaken(kind, name)) return;
    throw new RelayError(
      'invalid-input',
      `There is a token for the ${kind} "${name}" already. Take another name, or revoke that token first.`,
    );
  }

  /** Not through the sorted list: a fleet makes its tokens in one go, and would sort all of them for each. */
  #isTaken(kind: TokenKind, name: string): boolean {
    for (const row of this.#live()) if (row.kind === kind && row.name === name) return true;
    return false;
  }

  #find(idOrName: string): TokenRow | null {
    const byId = this.#store.rows('token').get(idOrName.toLowerCase());
    if (byId !== undefined && byId.revokedAt === undefined) return byId;
    const name = idOrName.normalize('NFC');
    const [only, other] = this.listTokens().filter((row) => row.name === name);
    if (other === undefined) return only ?? null;
    throw new RelayError(
      'invalid-input',
      `Both an agent and a desktop are called "${name}". Give the id of the token.`,
    );
  }

  #findRevoked(idOrName: string): TokenRow | null {
    const [id, name] = [idOrName.toLowerCase(), idOrName.normalize('NFC')];
    return this.#revokedDesktops().find((row) => row.tokenId === id || row.name === name) ?? null;
  }
}

/** For the log: never the token, nor its hash. */
function shown({ tokenId, kind, subjectId, name, projects }: TokenRow) {
  return { token_id: tokenId, kind, subject_id: subjectId, name, projects };
}

function newProject(projectId: string, createdAt: number): StoreChange<RelayTables> {
  const row: ProjectRow = { projectId, createdAt };
  return { table: 'project', id: projectId, row };
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** One spelling per name, so that names which look alike are alike. */
function checkName(input: string): string {
  const name = input.normalize('NFC');
  const length = [...name].length;
  // Control, format and unassigned characters, lone surrogates, and all separators but the space.
  const hasInvisible = /\p{C}|[^\P{Z} ]/u.test(name);
  if (length >= 1 && length <= NAME_MAX_CHARS && !hasInvisible && name.trim() === name) return name;
  throw new RelayError(
    'invalid-input',
    `A token's name must be 1-${NAME_MAX_CHARS} visible characters, without a space at either end.`,
  );
}

function checkProjects({ kind, projects = [] }: TokenRequest): readonly string[] {
  if (kind === 'desktop') {
    if (projects.length === 0) return [];
    throw new RelayError('invalid-input', "A desktop's token names no projects: it serves all of its owner's.");
  }
  if (projects.length === 0) {
    throw new RelayError('invalid-input', 'An agent needs at least one project. Name those that it may use.');
  }
  for (const project of projects) {
    const problem = projectIdSchema.safeParse(project).error?.issues[0]?.message;
    if (problem !== undefined) throw new RelayError('invalid-input', `${JSON.stringify(project)} ${problem}.`);
  }
  return [...new Set(projects)];
}
