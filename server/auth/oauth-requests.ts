/**
 * Requests of clients on their way to the authorization server, in the form that it takes.
 *
 * Owns what is forgiven: unknown scopes and parameters are left out, every name of this relay becomes one audience, and a
 * missing scope becomes the usual one. Nothing here decides what is granted.
 */
import { DESKTOP_SCOPE } from '../../protocol/pairing.ts';
import { AGENT_SCOPES, PATHS, type Places } from './places.ts';

/** What an authorization request may say. The rest belongs to standards that are not served here. */
const AUTHORIZE_PARAMETERS: ReadonlySet<string> = new Set([
  'client_id',
  'response_type',
  'response_mode',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
  'prompt',
  // So that they are refused, and not overlooked.
  'request',
  'request_uri',
]);

const PROMPTS: readonly string[] = ['none', 'login', 'consent'];

export function authorizeParameters(asked: URLSearchParams, places: Places): URLSearchParams {
  const kept = new URLSearchParams();
  for (const [name, value] of asked) {
    if (!AUTHORIZE_PARAMETERS.has(name) || name === 'resource' || name === 'scope' || name === 'prompt') continue;
    kept.append(name, value);
  }
  const words = (name: string) => asked.getAll(name).flatMap((value) => value.split(' '));
  const scopes = AGENT_SCOPES.filter((scope) => words('scope').includes(scope));
  kept.set('scope', (scopes.length > 0 ? scopes : AGENT_SCOPES).join(' '));
  const prompts = PROMPTS.filter((prompt) => words('prompt').includes(prompt));
  if (prompts.length > 0) kept.set('prompt', prompts.join(' '));
  for (const resource of resourcesOf(asked, places)) kept.append('resource', resource);
  return kept;
}

export function formParameters(pathname: string, asked: URLSearchParams, places: Places): URLSearchParams {
  const kept = new URLSearchParams();
  for (const [name, value] of asked) if (name !== 'resource' && name !== 'scope') kept.append(name, value);
  for (const resource of resourcesOf(asked, places)) kept.append('resource', resource);
  // A refresh gives what was granted, whatever the client once asked for: the owner may have narrowed it.
  if (pathname === PATHS.deviceCode) kept.set('scope', DESKTOP_SCOPE);
  return kept;
}

function resourcesOf(asked: URLSearchParams, places: Places): ReadonlySet<string> {
  return new Set(asked.getAll('resource').map((resource) => places.resourceOf(resource)));
}
