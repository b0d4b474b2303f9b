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
  | { readonly kind: 'agent'; readonly agent: AgentPrincipal }
  /** A token was shown, and it is not good. */
  | { readonly kind: 'rejected' };

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
  const bearer = /^bearer +(\S+)$/i.exec(header)?.[1];
  const agent = bearer === undefined ? null : authenticate(bearer);
  return agent === null ? { kind: 'rejected' } : { kind: 'agent', agent };
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

/** The refusal of this message from this caller; null when it may pass. */
export function refusalFor(identity: Identity, body: unknown): Response | null {
  if (identity.kind === 'rejected') return refuseToken(body);
  const calls = [...toolCallsOf(body), ...taskMessagesOf(body)];
  if (calls.length === 0) return null;
  if (identity.kind === 'anonymous') return askForToken(body);
  const lacking = calls.some(({ tool }) => tool !== undefined && !allows(identity.agent, tool.scope));
  return lacking ? refuseScope(body) : null;
}

/** Who may run may read. */
function allows({ scopes }: AgentPrincipal, needed: AgentScope): boolean {
  return scopes.includes(needed) || scopes.includes('osfoundry:run');
}

function askForToken(body: unknown): Response {
  return refuse({
    status: 401,
    code: RPC.http,
    message: 'Calling a tool needs an access token. Send it in the header "Authorization: Bearer <token>".',
    id: requestIdOf(body),
    headers: { 'www-authenticate': challenge({}) },
  });
}

function refuseToken(body: unknown): Response {
  const message = 'The access token is not valid: it is unknown, or it was revoked.';
  return refuse({
    status: 401,
    code: RPC.http,
    message: `${message} Ask the owner for a new one.`,
    id: requestIdOf(body),
    headers: { 'www-authenticate': challenge({ error: 'invalid_token', error_description: message }) },
  });
}

function refuseScope(body: unknown): Response {
  const message = 'The access token does not allow this tool.';
  return refuse({
    status: 403,
    code: RPC.http,
    message: `${message} Ask the owner for one with the scopes ${ALL_SCOPES.join(' and ')}.`,
    id: requestIdOf(body),
    headers: { 'www-authenticate': challenge({ error: 'insufficient_scope', error_description: message }) },
  });
}

/** RFC 6750. `resource_metadata` belongs here as soon as there is an authorization server to point at. */
function challenge(parameters: Readonly<Record<string, string>>): string {
  const all = { realm: 'graph-relay', ...parameters, scope: ALL_SCOPES.join(' ') };
  return `Bearer ${Object.entries(all)
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ')}`;
}
