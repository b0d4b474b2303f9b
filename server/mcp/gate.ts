/**
 * Who may call: reads the bearer token, and refuses what it does not allow.
 *
 * Looking around is free (`initialize`, `tools/list`, `ping`, `server/discover`, notifications); calling a tool and all about
 * tasks needs a token. A token that is shown must be good whatever is asked, so that a client notices a revoked one early. Owns the
 * challenges that clients act on; must not run anything.
 */
import type { AgentPrincipal, AgentScope } from '../agent-api.ts';
import { RPC, refuse, requestIdOf } from './responses.ts';
import { taskMessagesOf } from './task-methods.ts';
import { TOOLS, type Tool } from './tools.ts';

export type Authenticate = (bearer: string) => AgentPrincipal | null;

export type Identity =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'agent'; readonly agent: AgentPrincipal; readonly bearer: string }
  /** A token was shown, and it is not good. */
  | { readonly kind: 'rejected'; readonly bearer: string };

export interface ToolCall {
  /** Undefined when there is no such tool; that is answered later. */
  readonly tool: Tool | undefined;
  /** Not checked yet. */
  readonly input: unknown;
}

/** Both scopes at once: some clients cannot come back for the second one. */
const ALL_SCOPES: readonly AgentScope[] = ['osfoundry:read', 'osfoundry:run'];

export function identify(request: Request, authenticate: Authenticate): Identity {
  const header = request.headers.get('authorization');
  if (header === null) return { kind: 'anonymous' };
  const bearer = /^bearer +(\S+)$/i.exec(header)?.[1] ?? '';
  const agent = bearer === '' ? null : authenticate(bearer);
  return agent === null ? { kind: 'rejected', bearer } : { kind: 'agent', agent, bearer };
}

/** The tool calls of a message, or of each message of a 2025-era batch. */
export function toolCallsOf(body: unknown): readonly ToolCall[] {
  const messages = Array.isArray(body) ? body : [body];
  return messages.filter(isToolCall).map(({ params }) => ({ tool: toolNamed(params?.name), input: params?.arguments }));
}

interface ToolCallMessage {
  readonly method: 'tools/call';
  readonly params?: { readonly name?: unknown; readonly arguments?: unknown } | null;
}

function isToolCall(message: unknown): message is ToolCallMessage {
  return typeof message === 'object' && message !== null && 'method' in message && message.method === 'tools/call';
}

function toolNamed(name: unknown): Tool | undefined {
  return typeof name === 'string' ? TOOLS.get(name) : undefined;
}

export interface GateOptions {
  /** Where a client reads how to get a token; null where there is no authorization server. */
  readonly resourceMetadata: string | null;
  /** Nothing at all is answered without a token: some clients ask their owner to log in only then. */
  readonly tokenForAll: boolean;
}

/** The refusal of this message from this caller; null when it may pass. */
export function refusalFor(identity: Identity, body: unknown, options: GateOptions): Response | null {
  const { resourceMetadata } = options;
  if (identity.kind === 'rejected') return refuseToken(body, resourceMetadata);
  const calls = [...toolCallsOf(body), ...taskMessagesOf(body)];
  if (identity.kind === 'anonymous' && options.tokenForAll) return askForToken(body, resourceMetadata);
  if (calls.length === 0) return null;
  if (identity.kind === 'anonymous') return askForToken(body, resourceMetadata);
  const lacking = calls.some(({ tool }) => tool !== undefined && !allows(identity.agent, tool.scope));
  return lacking ? refuseScope(body, resourceMetadata) : null;
}

/** The second address, for clients that take an open answer for "no login needed". */
export function wantsTokenForAll(request: Request): boolean {
  return new URL(request.url).searchParams.get('auth') === 'required';
}

/** Who may run may read. */
function allows({ scopes }: AgentPrincipal, needed: AgentScope): boolean {
  return scopes.includes(needed) || scopes.includes('osfoundry:run');
}

function askForToken(body: unknown, metadata: string | null): Response {
  return refuse({
    status: 401,
    code: RPC.http,
    message: 'This needs an access token. Send it in the header "Authorization: Bearer <token>".',
    id: requestIdOf(body),
    headers: { 'www-authenticate': challenge({}, metadata) },
  });
}

function refuseToken(body: unknown, metadata: string | null): Response {
  const message = 'The access token is not valid: it is unknown, or it was revoked.';
  return refuse({
    status: 401,
    code: RPC.http,
    message: `${message} Ask the owner for a new one.`,
    id: requestIdOf(body),
    headers: { 'www-authenticate': challenge({ error: 'invalid_token', error_description: message }, metadata) },
  });
}

function refuseScope(body: unknown, metadata: string | null): Response {
  const message = 'The access token does not allow this tool.';
  return refuse({
    status: 403,
    code: RPC.http,
    message: `${message} Ask the owner for one with the scopes ${ALL_SCOPES.join(' and ')}.`,
    id: requestIdOf(body),
    headers: { 'www-authenticate': challenge({ error: 'insufficient_scope', error_description: message }, metadata) },
  });
}

/** RFC 6750, and RFC 9728 for where to get a token. */
function challenge(parameters: Readonly<Record<string, string>>, metadata: string | null): string {
  const place = metadata === null ? {} : { resource_metadata: metadata };
  const all = { realm: 'graph-relay', ...parameters, ...place, scope: ALL_SCOPES.join(' ') };
  return `Bearer ${Object.entries(all)
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ')}`;
}
