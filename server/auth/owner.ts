/**
 * The owner: the first one, the password, and the browsers in which they are logged in.
 *
 * Owns the tables `owner` and `owner_session`. A session's cookie is kept as its hash, and a session ends when the
 * owner ends it, by its stored instant, or when the password changes. Must not know of pages or cookies.
 */
import type { Ports, StateStore, StoreChange } from '../../protocol/ports.ts';
import type { OwnerRow, OwnerSessionRow, RelayTables } from '../rows.ts';
import { Line } from './once.ts';
import { hashPassword, isPassword, passwordProblem, SALT_BYTES, SCRYPT_COST } from './password.ts';
import { equalSecrets, sha256 } from './secrets.ts';

/** The one row of the table. */
const OWNER_ID = 'owner';

const SECRET_BYTES = 32;

/** A browser stays logged in for so long. Longer: a forgotten browser stays open. Shorter: more typing of passwords. */
const SESSION_MS = 14 * 24 * 60 * 60_000;

export interface OwnerOptions {
  readonly store: StateStore<RelayTables>;
  readonly ports: Pick<Ports, 'clock' | 'ids' | 'log'>;
  /** Smaller in tests only. */
  readonly scryptCost?: number;
}

export interface OwnerSession extends OwnerSessionRow {
  readonly sessionId: string;
}

export class Owner {
  readonly #store: OwnerOptions['store'];
  readonly #ports: OwnerOptions['ports'];
  readonly #cost: number;
  /** Opens the page that makes the first owner, or a new password. In memory only: a restart makes another one. */
  #setupToken: string | null = null;
  #settingUp = false;
  readonly #hashing = new Line();

  constructor({ store, ports, scryptCost = SCRYPT_COST }: OwnerOptions) {
    this.#store = store;
    this.#ports = ports;
    this.#cost = scryptCost;
  }

  get exists(): boolean {
    return this.#row !== undefined;
  }

  get #row(): OwnerRow | undefined {
    return this.#store.rows('owner').get(OWNER_ID);
  }

  /** A new one-time token; the one before is not good any more. */
  newSetupToken(): string {
    this.#setupToken = this.#ports.ids.hex(SECRET_BYTES);
    return this.#setupToken;
  }

  isSetupToken(token: string): boolean {
    return this.#setupToken !== null && equalSecrets(token, this.#setupToken);
  }

  /** Uses up the token. Returns what is wrong, or null when the owner has this password now. */
  async setUp(token: string, password: string): Promise<string | null> {
    if (!this.isSetupToken(token) || this.#settingUp) return 'This link was used already, or is not valid any more.';
    const problem = passwordProblem(password);
    if (problem !== null) return problem;
    this.#settingUp = true;
    try {
      await this.setPassword(password);
      this.#setupToken = null;
    } finally {
      this.#settingUp = false;
    }
    return null;
  }

  /** Ends all sessions: who sets a password does not trust the old one. */
  async setPassword(password: string): Promise<void> {
    const { clock, ids, log } = this.#ports;
    const salt = Buffer.from(ids.hex(SALT_BYTES), 'hex');
    const hash = await this.#hashing.run(() => hashPassword(password, { salt, cost: this.#cost }));
    const isNew = !this.exists;
    const row: OwnerRow = { ownerId: OWNER_ID, password: hash, createdAt: this.#row?.createdAt ?? clock.now() };
    await this.#store.commit([{ table: 'owner', id: OWNER_ID, row }, ...this.#endings(() => true)]);
    log.info(isNew ? 'owner.made' : 'owner.password-changed');
  }

  async isPassword(password: string): Promise<boolean> {
    const row = this.#row;
    return row !== undefined && (await this.#hashing.run(() => isPassword(password, row.password)));
  }

  /** Logs a browser in. Returns what its cookie is to hold. */
  async startSession(browser: string): Promise<string> {
    const { clock, ids } = this.#ports;
    const cookie = ids.hex(SECRET_BYTES);
    const now = clock.now();
    const row: OwnerSessionRow = { createdAt: now, expiresAt: now + SESSION_MS, browser: browser.slice(0, 200) };
    await this.#store.commit([
      { table: 'owner_session', id: sha256(cookie), row },
      ...this.#endings(({ expiresAt }) => expiresAt <= now),
    ]);
    return cookie;
  }

  sessionOf(cookie: string): OwnerSession | null {
    const sessionId = sha256(cookie);
    const row = this.#store.rows('owner_session').get(sessionId);
    if (cookie === '' || row === undefined || row.expiresAt <= this.#ports.clock.now()) return null;
    return { ...row, sessionId };
  }

  sessions(): OwnerSession[] {
    const now = this.#ports.clock.now();
    return [...this.#store.rows('owner_session')]
      .map(([sessionId, row]) => ({ ...row, sessionId }))
      .filter(({ expiresAt }) => expiresAt > now)
      .sort((a, b) => b.createdAt - a.createdAt);
  }

  /** Ends one session, or all. */
  async endSessions(sessionId?: string): Promise<void> {
    await this.#store.commit(this.#endings((_row, id) => sessionId === undefined || id === sessionId));
    this.#ports.log.info('owner.logged-out', { everywhere: sessionId === undefined });
  }

  #endings(which: (row: OwnerSessionRow, id: string) => boolean): StoreChange<RelayTables>[] {
    return [...this.#store.rows('owner_session')]
      .filter(([id, row]) => which(row, id))
      .map(([id]) => ({ table: 'owner_session', id, row: null }));
  }
}
