/** What a program with the official MCP client keeps between its calls, in memory. Owns no flow: the client has it. */
import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { REDIRECT } from './support.ts';

type Saved = Parameters<NonNullable<OAuthClientProvider['saveClientInformation']>>[0];
type SavedTokens = Parameters<OAuthClientProvider['saveTokens']>[0];

/** Keeps what a client keeps, and where it wanted to send its user. */
export class Keeper implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = { client_name: 'Official', redirect_uris: [REDIRECT] };
  client: Saved | undefined;
  saved: SavedTokens | undefined;
  verifier = '';
  sentTo: URL | null = null;
  clientInformation = () => this.client as never;
  saveClientInformation = (client: Saved): void => {
    this.client = client;
  };
  tokens = () => this.saved as never;
  saveTokens = (tokens: SavedTokens): void => {
    this.saved = tokens;
  };
  redirectToAuthorization = (url: URL): void => {
    this.sentTo = url;
  };
  saveCodeVerifier = (verifier: string): void => {
    this.verifier = verifier;
  };
  codeVerifier = (): string => this.verifier;
}
