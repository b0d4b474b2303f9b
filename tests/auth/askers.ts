/** Requests of agents and desktops with tokens of the command line, one after another. Owns no expectation. */
import { TRPC_PATH } from '../../protocol/api.ts';
import { call, type Site } from './support.ts';

export const JSON_TYPE = { 'content-type': 'application/json' };
export const PROBE = { hold_ms: 0 };
/** So many tokens that open nothing are taken from one address at once. */
export const GUESSES = 60;

export async function agentToken(site: Site, name = 'cli'): Promise<string> {
  return (await site.relay.access.createToken({ kind: 'agent', name, projects: ['home'] })).token;
}

export async function desktopToken(site: Site, name = 'pc'): Promise<string> {
  return (await site.relay.access.createToken({ kind: 'desktop', name })).token;
}

export function post(
  site: Site,
  path: string,
  given: { token: string; body: unknown; address?: string },
): Promise<Response> {
  const { token, body, ...from } = given;
  const headers = { ...JSON_TYPE, authorization: `Bearer ${token}` };
  return call(site, path, { ...from, method: 'POST', headers, body: JSON.stringify(body) });
}

export function probe(site: Site, token: string, address?: string): Promise<Response> {
  return post(site, `${TRPC_PATH}/relay.probe`, { token, body: PROBE, ...(address !== undefined && { address }) });
}

/** The statuses of so many of these. */
export async function statuses(times: number, ask: () => Promise<Response>): Promise<number[]> {
  const all: number[] = [];
  for (let count = 0; count < times; count++) all.push((await ask()).status);
  return all;
}
