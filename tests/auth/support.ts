/**
 * A relay with its authorization, called without sockets: a browser that keeps cookies and sends the pages' own forms, and
 * a client that speaks plain OAuth. Time can be moved forward; a restart goes on from what was on disk.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import { createMemoryState, type MemoryImage, type MemoryState } from '../../protocol/host/state/memory-state.ts';
import { systemIds, systemRandom } from '../../protocol/host/system-ports.ts';
import type { LogFields, Ports } from '../../protocol/ports.ts';
import { Authorization } from '../../server/auth/authorization.ts';
import { FrontDoor } from '../../server/front-door.ts';
import { createRelay, type Relay, type RelayOptions } from '../../server/relay.ts';
import { RELAY_TABLES, type RelayTables } from '../../server/rows.ts';
import { MovedClock } from './moved-clock.ts';

export const LOOPBACK = 'http://127.0.0.1:7420';
export const PUBLIC = 'https://relay.example';
export const PASSWORD = 'four small green words';
export const REDIRECT = 'http://127.0.0.1:33418/callback';

export interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly fields: LogFields;
}

export interface SiteOptions {
  readonly url?: string;
  readonly restore?: MemoryImage;
  readonly clock?: MovedClock;
  readonly documents?: Readonly<Record<string, unknown>> | null;
  readonly limits?: RelayOptions['limits'];
}

export interface Site {
  readonly t: Test;
  readonly url: string;
  readonly clock: MovedClock;
  readonly ports: Ports;
  readonly store: MemoryState<RelayTables>;
  readonly authorization: Authorization;
  readonly relay: Relay;
  readonly lines: LogLine[];
  /** Addresses that documents were asked from. */
  readonly fetched: string[];
  readonly options: SiteOptions;
}

export async function openSite(t: Test, options: SiteOptions = {}): Promise<Site> {
  const { url = LOOPBACK, clock = new MovedClock(), restore, documents = {}, limits = {} } = options;
  const lines: LogLine[] = [];
  const write =
    (level: string) =>
    (event: string, fields: LogFields = {}) =>
      void lines.push({ level, event, fields });
  const log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  const ports: Ports = { clock, random: systemRandom, ids: systemIds, log };
  const store = createMemoryState<RelayTables>({ tables: RELAY_TABLES, ...(restore && { restore }) });
  const fetched: string[] = [];
  const fetchDocument = async (address: string) => {
    fetched.push(address);
    const document = documents?.[address];
    if (document instanceof Error) throw document;
    return document ? Response.json(document) : new Response(null, { status: 404 });
  };
  // The hash is as slow as it is on purpose; here it is not what is tested.
  const given = { fetchDocument: documents && fetchDocument, scryptCost: 2 ** 4 };
  const authorization = new Authorization({ ports, store, ...given });
  const door = new FrontDoor(log);
  const relay = createRelay({ ports, store, authorization, door, limits });
  await authorization.open(url);
  door.open({ url: LOOPBACK, publicOrigin: url === LOOPBACK ? null : url });
  t.teardown(() => clock.stop());
  return { t, url, clock, ports, store, authorization, relay, lines, fetched, options };
}

/** The process is killed, and another one starts from what was on disk. */
export async function restarted(site: Site): Promise<Site> {
  const restore = site.store.crash();
  return openSite(site.t, { ...site.options, clock: site.clock, restore });
}

export interface CallOptions {
  readonly address?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: string;
}

export function call(site: Site, path: string, options: CallOptions = {}): Promise<Response> {
  const { address = '203.0.113.7', headers = {}, method = 'GET', body } = options;
  const url = new URL(path, site.url);
  const request = new Request(url, {
    method,
    headers: { host: url.host, ...headers },
    ...(body !== undefined && { body }),
  });
  return site.relay.fetch(request, { address });
}

export function post(site: Site, path: string, given: CallOptions & { form: Record<string, string> }) {
  const { form, ...options } = given;
  const headers = { 'content-type': 'application/x-www-form-urlencoded', ...options.headers };
  return call(site, path, { ...options, method: 'POST', headers, body: String(new URLSearchParams(form)) });
}

/** A browser: it keeps cookies, says where a form comes from, and follows redirects within the relay. */
export class Browser {
  site: Site;
  readonly cookies = new Map<string, string>();
  /** Stops before a redirect when false, as a browser whose connection breaks there. */
  follows = true;
  readonly address: string;
  /** Every answer on the way, the last one included. */
  readonly answers: Response[] = [];

  constructor(site: Site, address = '203.0.113.7') {
    this.site = site;
    this.address = address;
  }

  async open(path: string, options: CallOptions = {}): Promise<Page> {
    let url = new URL(path, this.site.url);
    let response = await this.#send(url, options);
    for (let hops = 0; response.status === 303 && this.follows && hops < 10; hops++) {
      url = new URL(response.headers.get('location')!, url);
      if (url.origin !== this.site.url) return { url, response, text: '' };
      response = await this.#send(url, {});
    }
    return { url, response, text: await response.text() };
  }

  /** Sends the page's form by the button of this value, with what is filled in here in place of what is there. */
  send(page: Page, step: string, fields: Record<string, string | readonly string[]> = {}): Promise<Page> {
    const form = page.text.split('<form').find((each) => each.includes(`value="${step}"`));
    if (form === undefined) throw new Error(`no form with ${step}: ${page.text}`);
    const action = unescaped(/action="([^"]*)"/.exec(form)![1]!);
    const filled = new URLSearchParams();
    const button = new RegExp(`<button[^>]* name="([^"]*)" value="${step}"`).exec(form)![1]!;
    for (const [input] of form.matchAll(/<input[^>]*>/g)) {
      const name = attribute(input, 'name');
      const isOff = input.includes('type="checkbox"') && !/ checked[ >]/.test(input);
      if (name !== null && !isOff && !(name in fields)) filled.append(name, attribute(input, 'value') ?? '');
    }
    for (const [name, value] of Object.entries(fields)) for (const each of [value].flat()) filled.append(name, each);
    filled.append(button, step);
    // As browsers do: a page that hides where it is hides it from its own forms' target too.
    const isHidden = page.response.headers.get('referrer-policy') === 'no-referrer';
    const origin = isHidden ? 'null' : this.site.url;
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin };
    return this.open(action, { method: 'POST', headers, body: String(filled) });
  }

  async #send(url: URL, options: CallOptions): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { accept: 'text/html', ...(cookie && { cookie }), ...options.headers };
    const response = await call(this.site, url.href, { address: this.address, ...options, headers });
    for (const set of response.headers.getSetCookie()) this.#keep(set);
    this.answers.push(response.clone());
    return response;
  }

  #keep(set: string): void {
    const [pair = '', ...attributes] = set.split('; ');
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    const isOver = attributes.some((each) => /^(max-age=0|expires=thu, 01 jan 1970)/i.test(each));
    if (isOver) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

export interface Page {
  readonly url: URL;
  readonly response: Response;
  readonly text: string;
}

function attribute(tag: string, name: string): string | null {
  const value = new RegExp(`${name}="([^"]*)"`).exec(tag)?.[1];
  return value === undefined ? null : unescaped(value);
}

function unescaped(text: string): string {
  return text
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&lt;/g, '<')
    .replace(/&amp;/g, '&');
}

/** Makes the first owner and gives back their browser, logged in. */
export async function newOwner(site: Site): Promise<Browser> {
  const browser = new Browser(site);
  const page = await browser.open(site.authorization.setupLink());
  const done = await browser.send(page, 'setup', { password: PASSWORD, again: PASSWORD });
  site.t.match(done.text, /What is connected/, 'the owner is logged in');
  return browser;
}

/** Another browser of the owner, logged in. */
export async function loggedIn(site: Site, address?: string): Promise<Browser> {
  const browser = new Browser(site, address);
  await browser.send(await browser.open('/owner/login'), 'login', { password: PASSWORD });
  return browser;
}

export interface Client {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly verifier: string;
}

export async function register(site: Site, metadata: Record<string, unknown> = {}): Promise<Client> {
  const body = JSON.stringify({ redirect_uris: [REDIRECT], client_name: 'Test client', ...metadata });
  const headers = { 'content-type': 'application/json' };
  const response = await call(site, '/oauth/register', { method: 'POST', headers, body });
  const answer = (await response.json()) as { client_id: string; client_secret?: string };
  if (response.status !== 201) throw new Error(JSON.stringify(answer));
  return { ...answer, verifier: randomBytes(32).toString('base64url') };
}

export function authorizePath({ client_id, verifier }: Client, changes: Record<string, string> = {}): string {
  const query = new URLSearchParams({
    client_id,
    response_type: 'code',
    redirect_uri: REDIRECT,
    scope: 'osfoundry:read osfoundry:run',
    state: 'state-1',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...changes,
  });
  return `/oauth/authorize?${query}`;
}

/** The owner allows it; gives back where the browser was sent. */
export async function allow(browser: Browser, client: Client, fields: Record<string, string | string[]> = {}) {
  const asked = await browser.open(authorizePath(client));
  return (await browser.send(asked, 'allow', { new_project: 'home', ...fields })).url;
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly scope: string;
  readonly expires_in: number;
  readonly token_type: string;
}

/** `given`: the code, and what differs from the usual request. */
export function exchange(site: Site, { client_id, verifier }: Client, given: Record<string, string>) {
  const usual = { grant_type: 'authorization_code', client_id, redirect_uri: REDIRECT, code_verifier: verifier };
  return post(site, '/oauth/token', { form: { ...usual, ...given } });
}

export function refresh(site: Site, { client_id }: Client, given: Record<string, string>) {
  return post(site, '/oauth/token', { form: { grant_type: 'refresh_token', client_id, ...given } });
}

/** A client with a grant, and its tokens. */
export async function connect(site: Site, browser: Browser, fields: Record<string, string | string[]> = {}) {
  const client = await register(site);
  const landed = await allow(browser, client, fields);
  const response = await exchange(site, client, { code: landed.searchParams.get('code')! });
  const tokens = (await response.json()) as Tokens;
  site.t.equal(response.status, 200, 'tokens are given');
  return { client, tokens };
}

/** Calls the list of Graph sessions; the status says whether the token is good. */
export function listSessions(site: Site, token: string, path = '/mcp'): Promise<Response> {
  const params = { name: 'list_graph_sessions', arguments: {} };
  return rpc(site, { path, token, method: 'tools/call', params });
}

export function rpc(site: Site, given: { path?: string; token?: string; method: string; params?: object }) {
  const { path = '/mcp', token, method, params = {} } = given;
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return call(site, path, { method: 'POST', headers, body });
}
