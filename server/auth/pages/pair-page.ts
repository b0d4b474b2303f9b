/**
 * Pairing: the owner types the code that a desktop shows, and confirms it.
 *
 * Owns the way from a code to a desktop's grant. Nobody but a logged-in owner can try a code here, and tries are counted:
 * a code has eight letters only.
 */
import { DESKTOP_CLIENT, DESKTOP_NAME_PARAMETER, DESKTOP_SCOPE } from '../../../protocol/pairing.ts';
import type { ConnectionRow } from '../../rows.ts';
import type { FoundRow, OAuthStore } from '../oauth-store.ts';
import { DESKTOP_RESOURCE, PATHS } from '../places.ts';
import { OWNER_ACCOUNT, type Provider } from '../provider.ts';
import { html } from './html.ts';
import { redirect } from './layout.ts';
import { noOwnerPage, type PageParts, type Shown } from './owner-pages.ts';
import type { Visit } from './visit.ts';

export interface PairParts extends PageParts {
  readonly provider: Provider;
  readonly oauth: OAuthStore;
}

export async function pairPage(visit: Visit, parts: PairParts): Promise<Shown> {
  if (!parts.owner.exists) return noOwnerPage();
  const typed = visit.field('user_code') || (visit.url.searchParams.get('user_code') ?? '');
  const code = normaliseCode(typed);
  if (visit.session === null) {
    const next = code === '' ? PATHS.pair : `${PATHS.pair}?user_code=${code}`;
    return redirect(`${PATHS.login}?${new URLSearchParams({ next })}`);
  }
  const step = visit.field('step');
  if (step === '' || code === '') return codePage(visit, code);
  const waitSeconds = parts.limits.take('user-code', visit.address);
  if (waitSeconds !== null) {
    parts.ports.log.warn('pairing.limited', { address: visit.address });
    return codePage(visit, code, {
      status: 429,
      problem: `Too many tries. The next one is possible in ${waitSeconds} seconds.`,
    });
  }
  const found = parts.oauth.deviceCode(code);
  if (found === undefined || isAnswered(found)) {
    parts.ports.log.warn('pairing.code-refused', { address: visit.address });
    return codePage(visit, code, {
      status: 404,
      problem: 'There is no desktop that waits with this code. Codes live ten minutes and work once.',
    });
  }
  parts.limits.giveBack('user-code', visit.address);
  if (step === 'deny') return deny(found, parts);
  if (step === 'allow') return allow(visit, { found, code }, parts);
  return confirmPage(visit, { found, code });
}

function codePage(visit: Visit, code: string, trouble: { status?: number; problem?: string } = {}): Shown {
  return {
    title: 'Pair a desktop',
    ...trouble,
    body: html`<p>Run <code>graph-relay desktop login</code> on the desktop. It shows a code.</p>
<form method="post" action="${PATHS.pair}">
${visit.hidden}
<label>Code
<input type="text" name="user_code" value="${shownCode(code)}" autocomplete="off" autocapitalize="characters" spellcheck="false" required autofocus></label>
<button type="submit" name="step" value="check" class="main">Continue</button>
</form>
<p><a href="${PATHS.owner}">What is connected</a></p>`,
  };
}

interface Waiting {
  readonly found: FoundRow;
  readonly code: string;
}

function confirmPage(visit: Visit, { found, code }: Waiting, trouble: { problem: string; name: string } | null = null) {
  const { ip, ua } = (found.row.payload.deviceInfo ?? {}) as { ip?: string; ua?: string };
  const isTaken = trouble !== null;
  return {
    title: 'Pair this desktop?',
    problem: trouble?.problem ?? null,
    ...(isTaken && { status: 409 }),
    body: html`<p>Allow it only if this code is on your own screen right now, because you have just run
<code>graph-relay desktop login</code> yourself. Whoever asks you to confirm a code of theirs wants your runs.</p>
<p class="code">${shownCode(code)}</p>
<dl><dt>It asked from</dt><dd>${ip ?? 'an unknown address'}</dd><dt>With</dt><dd>${ua ?? 'an unknown program'}</dd></dl>
<form method="post" action="${PATHS.pair}">
${visit.hidden}
<input type="hidden" name="user_code" value="${code}">
<label>Name it
<input type="text" name="name" value="${trouble?.name ?? nameOf(found)}" maxlength="64" required></label>
${
  isTaken &&
  html`<label class="choice"><input type="checkbox" name="replace" value="yes"> <span>It is that desktop again: it takes its place and its Graphs, and the old login ends</span></label>`
}
<button type="submit" name="step" value="allow" class="main">Pair</button>
<button type="submit" name="step" value="deny" formnovalidate>Refuse</button>
</form>`,
  };
}

async function allow(visit: Visit, waiting: Waiting, parts: PairParts): Promise<Shown> {
  const { connections, provider, oauth } = parts;
  const name = visit.field('name').normalize('NFC').trim();
  if (name === '' || name.length > 64 || /\p{C}/u.test(name)) {
    return confirmPage(visit, waiting, { name, problem: 'A name has 1-64 visible characters.' });
  }
  const same = connections.list('desktop').find((row) => row.name === name) ?? null;
  if (same !== null && visit.field('replace') !== 'yes') {
    return confirmPage(visit, waiting, { name, problem: `A desktop named "${name}" is paired already.` });
  }
  return parts.once.run(waiting.found.rowId, async () => {
    const grant = new provider.Grant({ accountId: OWNER_ACCOUNT, clientId: DESKTOP_CLIENT });
    grant.addResourceScope(DESKTOP_RESOURCE, DESKTOP_SCOPE);
    const grantId = await grant.save();
    await connections.add(desktopRow(name, grantId), same);
    await oauth.amend(waiting.found, {
      accountId: OWNER_ACCOUNT,
      grantId,
      scope: DESKTOP_SCOPE,
      resource: DESKTOP_RESOURCE,
    });
    return {
      title: `${name} is paired`,
      body: html`<p>It goes on by itself within a few seconds. <a href="${PATHS.owner}">What is connected</a></p>`,
    };
  });
}

function desktopRow(name: string, grantId: string): Omit<ConnectionRow, 'connectionId' | 'createdAt'> {
  const clientName = 'graph-relay desktop login';
  return {
    kind: 'desktop',
    grantId,
    clientId: DESKTOP_CLIENT,
    clientName,
    name,
    projects: [],
    scopes: [DESKTOP_SCOPE],
  };
}

async function deny(found: FoundRow, { oauth, ports }: PairParts): Promise<Shown> {
  await oauth.amend(found, { error: 'access_denied', errorDescription: 'The owner refused.' });
  ports.log.info('connection.refused', { kind: 'desktop' });
  return {
    title: 'Refused',
    body: html`<p>The desktop was told so. <a href="${PATHS.owner}">What is connected</a></p>`,
  };
}

function isAnswered({ row }: FoundRow): boolean {
  return row.payload.accountId !== undefined || row.payload.error !== undefined || row.consumedAt !== null;
}

function nameOf({ row }: FoundRow): string {
  const given = ((row.payload.params ?? {}) as Record<string, unknown>)[DESKTOP_NAME_PARAMETER];
  const name = typeof given === 'string' ? given.replace(/\p{C}/gu, '').trim().slice(0, 64) : '';
  return name === '' ? 'desktop' : name;
}

/** However it is typed. */
function normaliseCode(typed: string): string {
  return typed
    .toUpperCase()
    .replace(/[^A-Z]/g, '')
    .slice(0, 16);
}

function shownCode(code: string): string {
  return code.length === 8 ? `${code.slice(0, 4)}-${code.slice(4)}` : code;
}
