/**
 * The owner's own pages: the first password, login, and what is connected.
 *
 * Owns what the owner sees and sends there. A page asks; what it asks for is done by {@link Owner} and
 * {@link Connections}.
 */
import type { Ports } from '../../../protocol/ports.ts';
import type { ConnectionRow } from '../../rows.ts';
import type { Connections } from '../connections.ts';
import type { Once } from '../once.ts';
import type { Owner } from '../owner.ts';
import { PATHS } from '../places.ts';
import type { RateLimits } from '../rate-limits.ts';
import { type Html, html } from './html.ts';
import { type PageOptions, redirect } from './layout.ts';
import type { Visit } from './visit.ts';

export interface PageParts {
  readonly owner: Owner;
  readonly connections: Connections;
  readonly limits: RateLimits;
  /** Decisions that are being carried out. */
  readonly once: Once<Shown>;
  readonly ports: Pick<Ports, 'clock' | 'ids' | 'log'>;
}

/** A page to show, or an answer as it is. */
export type Shown = PageOptions | Response;

/** Tries a password. Returns the answer's headers when it is right, and what to say when it is not. */
export async function tryLogin(
  visit: Visit,
  { owner, limits, ports }: PageParts,
): Promise<{ headers: Headers } | { problem: string; status: number }> {
  const waitSeconds = limits.take('login', visit.address);
  if (waitSeconds !== null) {
    ports.log.warn('owner.login-limited', { address: visit.address });
    return { problem: `Too many tries. The next one is possible in ${waitSeconds} seconds.`, status: 429 };
  }
  if (!(await owner.isPassword(visit.field('password')))) {
    ports.log.warn('owner.login-refused', { address: visit.address });
    return { problem: 'This is not the password.', status: 403 };
  }
  limits.giveBack('login', visit.address);
  ports.log.info('owner.logged-in', { address: visit.address });
  return { headers: visit.loginHeaders(await owner.startSession(visit.browser), ports.ids) };
}

const OWNER_LINK = html`<code>graph-relay owner link</code> on the relay's own machine prints a link to choose a new password.`;

/** There is one account only; password managers want to know its name. */
const ACCOUNT = html`<label>Account
<input type="text" name="account" value="owner" autocomplete="username" readonly></label>`;

export function loginForm(visit: Visit, action: string): Html {
  return html`<form method="post" action="${action}">
${visit.hidden}
${ACCOUNT}
<label>Password of this relay's owner
<input type="password" name="password" autocomplete="current-password" required autofocus></label>
<button type="submit" name="step" value="login" class="main">Log in</button>
</form>
<p>Forgotten? ${OWNER_LINK}</p>`;
}

export function noOwnerPage(): PageOptions {
  return {
    title: 'This relay has no owner yet',
    status: 403,
    body: html`<p>Open the link that the relay printed when it started, and choose a password. Then come back here.</p>
<p>The link is gone? ${OWNER_LINK}</p>`,
  };
}

export async function setupPage(visit: Visit, parts: PageParts): Promise<Shown> {
  const { owner, ports } = parts;
  const token = visit.field('token') || (visit.url.searchParams.get('token') ?? '');
  let problem: string | null = null;
  // Not counted like logins: nobody guesses 256 bits, and this is the way in while somebody uses up all tries.
  if (visit.field('step') === 'setup') {
    if (visit.field('password') !== visit.field('again')) problem = 'The two passwords are not the same.';
    else problem = await owner.setUp(token, visit.field('password'));
    if (problem === null) {
      const headers = visit.loginHeaders(await owner.startSession(visit.browser), ports.ids);
      return redirect(PATHS.owner, headers);
    }
  }
  if (!owner.isSetupToken(token)) {
    ports.log.warn('owner.setup-refused', { address: visit.address });
    return {
      title: 'This link is not valid',
      status: 403,
      body: html`<p>It was used already, or the relay was started anew since.</p>
<p>${OWNER_LINK}</p>`,
    };
  }
  return {
    title: 'Choose a password',
    problem,
    ...(problem !== null && { status: 400 }),
    body: html`<p>You become the owner of this relay: whoever has this password decides which agents and desktops may use it.</p>
<form method="post" action="${PATHS.setup}">
${visit.hidden}
<input type="hidden" name="token" value="${token}">
${ACCOUNT}
<label>Password, at least 12 characters
<input type="password" name="password" autocomplete="new-password" minlength="12" maxlength="256" required autofocus></label>
<label>The same again
<input type="password" name="again" autocomplete="new-password" minlength="12" maxlength="256" required></label>
<button type="submit" name="step" value="setup" class="main">Become the owner</button>
</form>`,
  };
}

export async function loginPage(visit: Visit, parts: PageParts): Promise<Shown> {
  const next = safeNext(visit.url.searchParams.get('next'));
  if (visit.session !== null) return redirect(next);
  if (!parts.owner.exists) return noOwnerPage();
  const tried = visit.field('step') === 'login' ? await tryLogin(visit, parts) : null;
  if (tried !== null && 'headers' in tried) return redirect(next, tried.headers);
  const action = `${PATHS.login}?${new URLSearchParams({ next })}`;
  return { title: 'Log in', ...tried, body: loginForm(visit, action) };
}

/** Only pages of ours, whatever a link asks for. */
function safeNext(next: string | null): string {
  const isOurs = next !== null && /^\/(owner|device)(\?[\w%=&.-]*)?$/.test(next);
  return isOurs ? next : PATHS.owner;
}

export async function logoutPage(visit: Visit, { owner }: PageParts): Promise<Shown> {
  if (visit.session !== null && visit.field('step') !== '') {
    await owner.endSessions(visit.field('step') === 'everywhere' ? undefined : visit.session.sessionId);
  }
  return redirect(PATHS.login, visit.logoutHeaders());
}

export async function overviewPage(visit: Visit, parts: PageParts): Promise<Shown> {
  const { connections, owner } = parts;
  if (visit.session === null) return redirect(PATHS.login);
  const removed = visit.field('remove');
  if (removed !== '') {
    const row = connections.get(removed);
    if (row !== null) await connections.remove(row, 'removed by the owner');
    return redirect(PATHS.owner);
  }
  const ended = visit.field('end_session');
  if (ended !== '') {
    await owner.endSessions(ended);
    return redirect(PATHS.owner);
  }
  return {
    title: 'What is connected',
    body: html`<h2>Connected agents</h2>
${connectionList(visit, connections.list('agent'), 'No agent is connected. Give the address of this relay with /mcp at its end to an MCP client.')}
<h2>Desktops</h2>
${connectionList(visit, connections.list('desktop'), 'No desktop is paired. Run "graph-relay desktop login" on one.')}
<p><a href="${PATHS.pair}">Pair a desktop</a></p>
<p>Tokens made with "graph-relay token create" are listed by "graph-relay token list".</p>
<h2>Browsers that are logged in</h2>
<ul>${owner.sessions().map(
      ({ sessionId, browser, createdAt }, index) => html`<li><span>${
        sessionId === visit.session?.sessionId ? html`<strong>This browser</strong>` : 'Another one'
      }, since ${day(createdAt)}
<small>${browser}</small></span>
${
  sessionId !== visit.session?.sessionId &&
  html`<form method="post" action="${PATHS.owner}">${visit.hidden}
<button type="submit" name="end_session" value="${sessionId}" aria-label="Log out browser ${index + 1}">Log out</button></form>`
}</li>`,
    )}</ul>
<form method="post" action="${PATHS.logout}">${visit.hidden}
<button type="submit" name="step" value="here">Log out</button>
<button type="submit" name="step" value="everywhere">Log out everywhere</button>
</form>`,
  };
}

function connectionList(visit: Visit, rows: readonly ConnectionRow[], none: string): Html {
  if (rows.length === 0) return html`<p>${none}</p>`;
  return html`<ul>${rows.map(
    (row) => html`<li><span><strong>${row.name}</strong>, since ${day(row.createdAt)}${
      row.kind === 'agent' && html`: may ${scopeText(row.scopes)} in ${row.projects.join(', ')}`
    }</span>
<form method="post" action="${PATHS.owner}">${visit.hidden}
<button type="submit" name="remove" value="${row.connectionId}" aria-label="Remove ${row.name}">Remove</button></form></li>`,
  )}</ul>`;
}

function scopeText(scopes: readonly string[]): string {
  return scopes.includes('osfoundry:run') ? 'start and read runs' : 'read runs';
}

function day(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
