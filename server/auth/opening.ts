/**
 * Authorization in a real process: what it takes from the environment, and what it tells its owner.
 *
 * Owns the words on the terminal. Must not decide anything about grants.
 */
import { ExitError } from '../../protocol/host/exit-codes.ts';
import { note } from '../../protocol/host/terminal.ts';
import type { Ports, StateStore } from '../../protocol/ports.ts';
import type { RelayTables } from '../rows.ts';
import { Authorization } from './authorization.ts';
import { createDocumentFetch } from './document-fetch.ts';
import { passwordProblem } from './password.ts';
import { checkPublicUrl } from './places.ts';

export const PUBLIC_URL_VARIABLE = 'GRAPH_RELAY_PUBLIC_URL';
/** `off`: clients register, and nothing is fetched. For a relay that cannot reach the internet. */
export const CLIENT_DOCUMENTS_VARIABLE = 'GRAPH_RELAY_CLIENT_DOCUMENTS';
export const OWNER_PASSWORD_VARIABLE = 'GRAPH_RELAY_OWNER_PASSWORD';

export interface OpeningOptions {
  readonly ports: Ports;
  readonly store: StateStore<RelayTables>;
  /** From {@link publicOrigin}. */
  readonly publicOrigin: string | null;
}

export interface Opening {
  readonly authorization: Authorization;
  /** Opens the routes. `url`: where the relay listens, which is its address unless it has a public one. */
  open(url: string): Promise<void>;
}

/** One of its libraries lists all variables when it is loaded, and Deno has no narrower permission for that. */
const CLOSED_ON_DENO = 'Logins are closed: the authorization server needs --allow-env, without a list. Tokens work.';

/** Null where the authorization server cannot be loaded: then tokens of the command line are the only way in. */
export async function prepareAuthorization(options: OpeningOptions): Promise<Opening | null> {
  const { ports, store, publicOrigin } = options;
  const module = await import('oidc-provider').catch((error: unknown) => {
    if (!(error instanceof Error && error.name === 'NotCapable')) throw error;
    ports.log.warn('authorization.closed', { reason: CLOSED_ON_DENO });
    return null;
  });
  if (module === null) return null;
  const fetchDocument = takesDocuments(process.env[CLIENT_DOCUMENTS_VARIABLE]) ? createDocumentFetch() : null;
  const authorization = new Authorization({ ports, store, fetchDocument });
  const { owner } = authorization;
  try {
    if (!owner.exists) await ownerFromEnvironment(authorization);
  } catch (error) {
    authorization.stop();
    throw error;
  }
  return {
    authorization,
    async open(url) {
      await authorization.open(publicOrigin ?? url, module);
      if (owner.exists) return;
      note('This relay has no owner yet. To become the owner, open this link once and choose a password:');
      note(`  ${authorization.setupLink()}`);
    },
  };
}

/** What the relay is called from outside: from the command line, or the environment; null when neither says. */
export function publicOrigin(onCommandLine: string | undefined): string | null {
  const given = onCommandLine ?? process.env[PUBLIC_URL_VARIABLE];
  if (given === undefined || given === '') return null;
  const checked = checkPublicUrl(given);
  if ('origin' in checked) return checked.origin;
  throw new ExitError(
    'usage',
    `"${given}" cannot be the relay's public address: ${checked.problem}. Give it with --public-url or ${PUBLIC_URL_VARIABLE}, for example https://relay.example.`,
  );
}

function takesDocuments(given: string | undefined): boolean {
  if (given === undefined || given === '' || given === 'on') return true;
  if (given === 'off') return false;
  throw new ExitError('usage', `${CLIENT_DOCUMENTS_VARIABLE} is "${given}". It can be on or off.`);
}

async function ownerFromEnvironment({ owner }: Authorization): Promise<void> {
  const password = process.env[OWNER_PASSWORD_VARIABLE];
  if (!password) return;
  const problem = passwordProblem(password);
  if (problem !== null) throw new ExitError('usage', `${OWNER_PASSWORD_VARIABLE} cannot be used: ${problem}`);
  await owner.setPassword(password);
}
