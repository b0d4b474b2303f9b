/**
 * One request of a browser: its cookies, its form, and whether the owner is logged in.
 *
 * Owns the two cookies of ours and the proof that a form was sent from our own page: its hidden field is derived from a
 * cookie that no other site can read, and the browser's own word on where the form came from has to agree.
 */
import { RelayError } from '../../../protocol/errors.ts';
import type { Ids } from '../../../protocol/ports.ts';
import { readBody } from '../../body.ts';
import type { Owner, OwnerSession } from '../owner.ts';
import type { Places } from '../places.ts';
import { derived, equalSecrets } from '../secrets.ts';
import { type Html, html } from './html.ts';

/** Our forms are short. */
const FORM_BYTES = 20_000;
const FORM_SECRET_BYTES = 32;

/** Two weeks, as long as a session lives on the relay. */
const SESSION_COOKIE_SECONDS = 14 * 24 * 60 * 60;

export interface VisitOptions {
  readonly places: Places;
  readonly owner: Owner;
  readonly ids: Pick<Ids, 'hex'>;
}

export class Visit {
  readonly url: URL;
  readonly form: URLSearchParams;
  readonly session: OwnerSession | null;
  readonly address: string;
  readonly browser: string;
  readonly #cookies: ReadonlyMap<string, string>;
  readonly #prefix: string;
  readonly #isSecure: boolean;
  /** What the hidden field is derived from; made when the browser has none. */
  readonly #formSecret: string;
  readonly #newFormSecret: boolean;

  private constructor(given: { request: Request; form: URLSearchParams; address: string }, options: VisitOptions) {
    const { request, form, address } = given;
    const { places, owner, ids } = options;
    this.url = new URL(request.url);
    this.form = form;
    this.address = address;
    this.browser = request.headers.get('user-agent') ?? 'a browser without a name';
    this.#cookies = cookiesOf(request.headers.get('cookie') ?? '');
    this.#isSecure = places.isSecure;
    // A browser takes a cookie with this prefix from this host alone and over TLS only.
    this.#prefix = places.isSecure ? '__Host-' : '';
    this.session = owner.sessionOf(this.#cookie('graph_relay_owner'));
    const known = this.#cookie('graph_relay_form');
    this.#newFormSecret = known.length !== 2 * FORM_SECRET_BYTES;
    this.#formSecret = this.#newFormSecret ? ids.hex(FORM_SECRET_BYTES) : known;
  }

  /** Rejects with `forbidden` when a form does not come from a page of ours. */
  static async of(request: Request, address: string, options: VisitOptions): Promise<Visit> {
    const isForm = request.method === 'POST';
    const form = new URLSearchParams(
      isForm ? new TextDecoder().decode(await readBody(request, FORM_BYTES)) : undefined,
    );
    const visit = new Visit({ request, form, address }, options);
    if (isForm) visit.#refuseForeignForm(request, options.places);
    return visit;
  }

  field(name: string): string {
    return this.form.get(name) ?? '';
  }

  cookie(name: string): string {
    return this.#cookies.get(name) ?? '';
  }

  /** The hidden field that every form of ours carries. */
  get hidden(): Html {
    return html`<input type="hidden" name="form_token" value="${this.#formToken}">`;
  }

  /** What every answer with a form carries. */
  get headers(): Record<string, string> {
    if (!this.#newFormSecret) return {};
    return { 'set-cookie': this.#setCookie('graph_relay_form', this.#formSecret, SESSION_COOKIE_SECONDS) };
  }

  /** The answer's cookies after a login. The form's secret is made anew, so that one known before it is of no use. */
  loginHeaders(session: string, ids: Pick<Ids, 'hex'>): Headers {
    const headers = new Headers();
    headers.append('set-cookie', this.#setCookie('graph_relay_owner', session, SESSION_COOKIE_SECONDS));
    const formSecret = ids.hex(FORM_SECRET_BYTES);
    headers.append('set-cookie', this.#setCookie('graph_relay_form', formSecret, SESSION_COOKIE_SECONDS));
    return headers;
  }

  logoutHeaders(): Headers {
    return new Headers({ 'set-cookie': this.#setCookie('graph_relay_owner', '', 0) });
  }

  get #formToken(): string {
    return derived(this.#formSecret, 'form');
  }

  #refuseForeignForm(request: Request, places: Places): void {
    const origin = request.headers.get('origin');
    const site = request.headers.get('sec-fetch-site');
    const isOurOrigin = origin === null || places.isOurOrigin(origin);
    const isOurSite = site === null || site === 'same-origin' || site === 'none';
    const isOurForm = !this.#newFormSecret && equalSecrets(this.field('form_token'), this.#formToken);
    if (isOurOrigin && isOurSite && isOurForm) return;
    throw new RelayError(
      'forbidden',
      'This form did not come from a page of this relay, or its page was open for too long. Go back, load the page again, and allow cookies.',
    );
  }

  #cookie(name: string): string {
    return this.#cookies.get(this.#prefix + name) ?? '';
  }

  #setCookie(name: string, value: string, seconds: number): string {
    const secure = this.#isSecure ? '; Secure' : '';
    return `${this.#prefix}${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`;
  }
}

function cookiesOf(header: string): Map<string, string> {
  const cookies = new Map<string, string>();
  for (const part of header.split(';')) {
    const at = part.indexOf('=');
    const name = part.slice(0, at).trim();
    // The first one wins: another one of that name was put there for a narrower path or from a neighbour.
    if (at > 0 && !cookies.has(name)) cookies.set(name, part.slice(at + 1).trim());
  }
  return cookies;
}
