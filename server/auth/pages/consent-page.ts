/**
 * Consent: the owner sees which client asks for what, narrows it, and allows or refuses it.
 *
 * Owns the way from an authorization request to a grant. Login and consent end in one step: the client's request goes on
 * once. Every authorization is asked about, whatever was allowed before.
 */
import { projectIdSchema } from '../../../protocol/ids.ts';
import type { ProjectRow } from '../../rows.ts';
import { AGENT_RESOURCE, AGENT_SCOPES, PATHS } from '../places.ts';
import { CONSENT_COOKIE, OWNER_ACCOUNT, type Provider } from '../provider.ts';
import { equalSecrets } from '../secrets.ts';
import { type Html, html } from './html.ts';
import { redirect } from './layout.ts';
import { loginForm, noOwnerPage, type PageParts, type Shown, tryLogin } from './owner-pages.ts';
import type { Visit } from './visit.ts';

export interface ConsentParts extends PageParts {
  readonly provider: Provider;
  readonly projects: () => ReadonlyMap<string, ProjectRow>;
}

/** An authorization request that waits for its owner, as far as it is looked at here. */
interface Asked {
  readonly uid: string;
  readonly returnTo: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly iat?: number;
  result?: unknown;
  save(ttl: number): Promise<unknown>;
}

interface AskingClient {
  readonly clientId: string;
  readonly clientName?: string;
}

/** The longest name of a connection, and of a project. */
const NAME_CHARS = 64;

/** The browser goes on at once. */
const RESUME_SECONDS = 10 * 60;

const SCOPE_TEXTS: Readonly<Record<string, string>> = {
  'osfoundry:read': 'See the shared Graph sessions, and read its own runs',
  'osfoundry:run': 'Start runs on your desktops, and cancel them',
};

export async function consentPage(visit: Visit, parts: ConsentParts): Promise<Shown> {
  const uid = visit.url.pathname.slice(PATHS.consent.length + 1);
  const isThisBrowsers = equalSecrets(visit.cookie(CONSENT_COOKIE), uid);
  const asked = isThisBrowsers
    ? ((await parts.provider.Interaction.find(uid)) as unknown as Asked | undefined)
    : undefined;
  const client =
    asked && ((await parts.provider.Client.find(String(asked.params.client_id))) as AskingClient | undefined);
  if (asked === undefined || client === undefined) return gonePage();
  const action = `${PATHS.consent}/${uid}`;
  if (!parts.owner.exists) return noOwnerPage();
  if (needsLogin(visit, asked)) return loginFirst(visit, parts, action);
  // Sent twice: the first decision counts.
  if (asked.result !== undefined) return redirect(asked.returnTo);
  const step = visit.field('step');
  if (step === 'deny') return deny(asked, parts, client);
  const choice = step === 'allow' ? readChoice(visit, asked) : null;
  if (choice !== null && 'projects' in choice)
    return parts.once.run(uid, () => allow({ asked, client }, choice, parts));
  return askPage({ visit, asked, client, action, problem: choice?.problem ?? null }, parts);
}

/** A client may ask for a new login, which then has to be newer than the request. */
function needsLogin(visit: Visit, { params, iat }: Asked): boolean {
  if (visit.session === null) return true;
  const wantsNew = String(params.prompt ?? '')
    .split(' ')
    .includes('login');
  return wantsNew && visit.session.createdAt < (iat ?? 0) * 1_000;
}

async function loginFirst(visit: Visit, parts: ConsentParts, action: string): Promise<Shown> {
  const tried = visit.field('step') === 'login' ? await tryLogin(visit, parts) : null;
  if (tried !== null && 'headers' in tried) return redirect(action, tried.headers);
  return {
    title: 'Log in to connect an agent',
    ...tried,
    body: html`<p>An MCP client asks for access to this relay. Log in to see which one, and to decide.</p>
${loginForm(visit, action)}`,
  };
}

interface Choice {
  readonly projects: readonly string[];
  readonly scopes: readonly string[];
  readonly name: string;
}

function readChoice(visit: Visit, asked: Asked): Choice | { readonly problem: string } {
  const scopes = requestedScopes(asked).filter((scope) => visit.form.getAll('scope').includes(scope));
  const added = visit.field('new_project').trim();
  const projects = [...new Set([...visit.form.getAll('project'), ...(added === '' ? [] : [added])])];
  const name = visit.field('name').normalize('NFC').trim();
  if (scopes.length === 0) return { problem: 'Choose what it may do, or refuse.' };
  if (projects.length === 0) return { problem: 'Choose at least one project, or refuse.' };
  for (const project of projects) {
    const problem = projectIdSchema.safeParse(project).error?.issues[0]?.message;
    if (problem !== undefined) return { problem: `"${project}" ${problem}.` };
  }
  if (name === '' || name.length > NAME_CHARS || /\p{C}/u.test(name))
    return { problem: 'A name has 1-64 visible characters.' };
  return { projects, scopes, name };
}

function requestedScopes({ params }: Asked): readonly string[] {
  const asked = String(params.scope ?? '').split(' ');
  return AGENT_SCOPES.filter((scope) => asked.includes(scope));
}

async function allow({ asked, client }: { asked: Asked; client: AskingClient }, choice: Choice, parts: ConsentParts) {
  const { provider, connections } = parts;
  const grant = new provider.Grant({ accountId: OWNER_ACCOUNT, clientId: client.clientId });
  grant.addResourceScope(AGENT_RESOURCE, choice.scopes.join(' '));
  // What was refused is answered too: it is not asked about again.
  const refused = requestedScopes(asked).filter((scope) => !choice.scopes.includes(scope));
  if (refused.length > 0) grant.rejectResourceScope(AGENT_RESOURCE, refused.join(' '));
  const grantId = await grant.save();
  await connections.add({
    kind: 'agent',
    grantId,
    clientId: client.clientId,
    clientName: client.clientName ?? client.clientId,
    ...choice,
  });
  return finish(asked, { login: { accountId: OWNER_ACCOUNT }, consent: { grantId } });
}

function deny(asked: Asked, { ports }: ConsentParts, client: AskingClient): Promise<Response> {
  ports.log.info('connection.refused', { kind: 'agent', client_id: client.clientId });
  return finish(asked, { error: 'access_denied', error_description: 'The owner refused.' });
}

async function finish(asked: Asked, result: unknown): Promise<Response> {
  asked.result = result;
  await asked.save(RESUME_SECONDS);
  return redirect(asked.returnTo);
}

function gonePage(): Shown {
  return {
    title: 'This request is not open any more',
    status: 400,
    body: html`<p>It was answered or is too old, or it was begun in another browser. Start again in your MCP client.</p>`,
  };
}

interface Asking {
  readonly visit: Visit;
  readonly asked: Asked;
  readonly client: AskingClient;
  readonly action: string;
  readonly problem: string | null;
}

function askPage({ visit, asked, client, action, problem }: Asking, { projects }: ConsentParts): Shown {
  const name = client.clientName ?? client.clientId;
  const redirectUri = String(asked.params.redirect_uri);
  // Sent back with a problem, it shows what was chosen: nothing that was ticked off comes back by itself.
  const chosen = problem === null ? null : visit.form;
  const isOn = (scope: string) => chosen?.getAll('scope').includes(scope) ?? true;
  return {
    title: `Connect ${name}?`,
    problem,
    ...(problem !== null && { status: 400 }),
    formTargets: [formTarget(redirectUri)],
    body: html`<p>An MCP client asks for access to this relay. Allow it only if you have just connected it yourself.</p>
<dl>
<dt>It calls itself</dt><dd>${name}</dd>
<dt>${client.clientId.startsWith('https://') ? 'It is described at' : 'Its id here (nobody has checked its name)'}</dt><dd>${client.clientId}</dd>
<dt>You will be sent to</dt><dd>${placeOf(redirectUri)}</dd>
</dl>
<form method="post" action="${action}">
${visit.hidden}
<fieldset><legend>What it may do</legend>
${requestedScopes(asked).map(
  (scope) =>
    html`<label class="choice"><input type="checkbox" name="scope" value="${scope}"${isOn(scope) && CHECKED}> <span>${SCOPE_TEXTS[scope] ?? scope} <small>${scope}</small></span></label>`,
)}
</fieldset>
${projectChoice([...projects().keys()], chosen)}
<label>Name it
<input type="text" name="name" value="${chosen?.get('name') ?? name.slice(0, NAME_CHARS).trim()}" maxlength="${NAME_CHARS}" required></label>
<button type="submit" name="step" value="allow" class="main">Allow</button>
<button type="submit" name="step" value="deny" formnovalidate>Refuse</button>
</form>`,
  };
}

const CHECKED = html` checked`;

/** Nothing is chosen for the owner, unless there is nothing to choose. `chosen`: what they chose before. */
function projectChoice(projects: readonly string[], chosen: URLSearchParams | null): Html {
  const isOn = (project: string) => chosen?.getAll('project').includes(project) ?? projects.length === 1;
  const added = chosen?.get('new_project') ?? (projects.length === 0 ? 'home' : '');
  return html`<fieldset><legend>For which projects</legend>
${projects.map(
  (project) =>
    html`<label class="choice"><input type="checkbox" name="project" value="${project}"${isOn(project) && CHECKED}> <span>${project}</span></label>`,
)}
<label>${projects.length === 0 ? 'There is no project yet. Make one' : 'Another one, which is made'}
<input type="text" name="new_project" value="${added}" maxlength="${NAME_CHARS}" autocomplete="off" autocapitalize="none"></label>
</fieldset>`;
}

/** Where the answer goes, in the few words that tell one place from another. */
function placeOf(redirectUri: string): string {
  const url = new URL(redirectUri);
  if (url.protocol === 'https:') return url.host;
  return url.protocol === 'http:' ? `a program on this machine (${url.host})` : `the program for ${url.protocol}`;
}

/** What the content security policy has to name, so that the browser follows the answer of the form. */
function formTarget(redirectUri: string): string {
  const url = new URL(redirectUri);
  // A policy cannot name an IPv6 address.
  const isNameable = /^https?:$/.test(url.protocol) && !url.hostname.startsWith('[');
  return isNameable ? url.origin : url.protocol;
}
