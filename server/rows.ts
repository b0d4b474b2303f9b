/**
 * The rows that the relay keeps. Plain JSON values; a change is a new object, so a reader may keep what it was given.
 */
import type { TransportName } from '../protocol/api.ts';
import type { CommandLife } from '../protocol/command-machine.ts';
import type { SharedSession } from '../protocol/schemas.ts';

export interface CommandRow extends CommandLife {
  readonly commandId: string;
  /** The connected agent that started the run. Nobody else may read or cancel it. */
  readonly agentId: string;
  readonly projectId: string;
  readonly graphSessionId: string;
  /** The one desktop that has the Graph. */
  readonly desktopId: string;
  /** The session's slug when the run was queued. */
  readonly slug: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string;
  /** SHA-256 over what the key stands for: session and arguments, in canonical form. */
  readonly requestHash: string;
  /** Place in the order of queueing, from 1, across all desktops. */
  readonly sequence: number;
  /** The instant after which it must not start any more. */
  readonly startBy: number;
  /** How the desktop reached the relay when it started the run. */
  readonly transport: TransportName | null;
}

export interface SharedProject {
  readonly project_id: string;
  readonly sessions: readonly SharedSession[];
}

export interface DesktopRow {
  readonly desktopId: string;
  /** Grows by one with each new instance. */
  readonly epoch: number;
  readonly instanceId: string | null;
  /** Instances that were replaced, newest last; they are told so when they come back. Bounded. */
  readonly replaced: readonly string[];
  /** What the last sync shared. */
  readonly projects: readonly SharedProject[];
}

export interface ProjectRow {
  readonly projectId: string;
  readonly createdAt: number;
}

/** A token, as the SHA-256 of its text. The text itself is shown once, when it is made. */
export interface TokenRow {
  readonly tokenId: string;
  readonly hash: string;
  /** A desktop's row stays when its token is revoked, without its hash: the same desktop can get a new one. */
  readonly revokedAt?: number;
  readonly kind: 'agent' | 'desktop';
  /** The agent or desktop that it stands for. */
  readonly subjectId: string;
  /** What the owner calls it. */
  readonly name: string;
  /** Projects that an agent may use; empty for a desktop, which serves all of its owner's. */
  readonly projects: readonly string[];
  readonly createdAt: number;
}

/** One thing that the authorization server remembers: a client, a grant, a code, a token, a session. */
export interface OAuthRow {
  readonly model: string;
  /** As the authorization server gave it, but without its id: most ids are secrets, and the row's id is made of its hash. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** Null for what does not expire by itself. */
  readonly expiresAt: number | null;
  /** When a code or a refresh token was used up. */
  readonly consumedAt: number | null;
}

/** Who was let in by the owner's consent: an agent or a desktop. It lives as long as its grant. */
export interface ConnectionRow {
  readonly connectionId: string;
  readonly kind: 'agent' | 'desktop';
  readonly grantId: string;
  readonly clientId: string;
  /** What the client calls itself. Nobody has checked that. */
  readonly clientName: string;
  /** What the owner calls it. */
  readonly name: string;
  /** Projects that an agent may use; empty for a desktop. */
  readonly projects: readonly string[];
  readonly scopes: readonly string[];
  readonly createdAt: number;
}

export interface OwnerRow {
  readonly ownerId: string;
  readonly password: PasswordHash;
  readonly createdAt: number;
}

/** A password as scrypt made it, with the parameters that it was made with. Bytes are in base64url. */
export interface PasswordHash {
  readonly kdf: 'scrypt';
  readonly cost: number;
  readonly blockSize: number;
  readonly parallelization: number;
  readonly salt: string;
  readonly hash: string;
}

/** A browser in which the owner is logged in; its row id is the SHA-256 of what its cookie holds. */
export interface OwnerSessionRow {
  readonly createdAt: number;
  readonly expiresAt: number;
  /** What the browser called itself, for the list of sessions. */
  readonly browser: string;
}

export type RelayTables = {
  command: CommandRow;
  desktop: DesktopRow;
  project: ProjectRow;
  token: TokenRow;
  oauth: OAuthRow;
  connection: ConnectionRow;
  owner: OwnerRow;
  owner_session: OwnerSessionRow;
};

export const RELAY_TABLES = [
  'command',
  'desktop',
  'project',
  'token',
  'oauth',
  'connection',
  'owner',
  'owner_session',
] as const;
