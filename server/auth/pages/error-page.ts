/**
 * What a person reads whose client asked for something that cannot be given: what happened, to which client, and what to
 * do next.
 *
 * Owns the words. They say nothing of the relay's network or of what a stranger's server answered: anybody can have this
 * page shown for any address. Whoever runs the relay finds more in its log.
 */
import { cleanText } from '../../../protocol/text.ts';
import type { DocumentFault } from '../client-documents.ts';
import { type Html, html } from './html.ts';
import type { PageOptions } from './layout.ts';

/** Of an address that a stranger wrote. */
const URL_CHARS = 300;

const REGISTER = html`<p>Or let the client register with this relay instead, if it can (dynamic client registration): remove this server in the client and add it anew. The owner of this relay can have all clients do so, by <code>GRAPH_RELAY_CLIENT_DOCUMENTS=off</code>.</p>`;

const LOG = html`<p>Whoever runs this relay finds the reason in its log, as <code>oauth.document-refused</code>.</p>`;

const DOCUMENT_PAGES: Readonly<Record<DocumentFault, { title: string; body: Html }>> = {
  unreachable: {
    title: 'The description of this client could not be fetched',
    body: html`<p>Try again in a minute, by loading this page anew: the fault may be over then.</p>
<p>If it stays, tell the maker of the client that its description cannot be fetched from this address.</p>
${REGISTER}
${LOG}`,
  },
  unusable: {
    title: 'The description of this client cannot be used',
    body: html`<p>Only the maker of the client can put it right. Tell them that what is at this address does not describe a client as it has to; until then, trying again is of no use.</p>
${REGISTER}
${LOG}`,
  },
  'too-often': {
    title: 'Too many descriptions of clients were asked for',
    body: html`<p>Try again in a minute, by loading this page anew. The relay fetches so many of them only.</p>
${REGISTER}`,
  },
  'not-fetched-here': {
    title: 'This relay does not fetch descriptions of clients',
    body: html`<p>It takes clients that register (dynamic client registration): remove this server in the client and add it anew. A client that goes on without registering cannot be connected here; ask its maker.</p>`,
  },
};

/** A client that is known by a description of itself, which was not taken. */
export function documentPage({ fault, url }: { fault: DocumentFault; url: string }): PageOptions {
  const { title, body } = DOCUMENT_PAGES[fault];
  return {
    title,
    status: 400,
    body: html`<p>Your client did not register; it says that it is described at this address. Nothing was allowed, and nothing was changed.</p>
<dl><dt>The client's description</dt><dd>${cleanText(url, URL_CHARS)}</dd></dl>
<h2>What you can do</h2>
${body}`,
  };
}

/** All else that a client can ask for in vain. */
export function refusedPage(reason: string): PageOptions {
  return {
    title: 'The client asked for something that is not possible',
    status: 400,
    body: html`<p>The reason: ${reason}.</p><p>Start again in your MCP client. If it goes on failing, remove this server there and add it anew, so that it registers again.</p>`,
  };
}
