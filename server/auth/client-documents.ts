/**
 * What a client says of itself at the address that is its id: fetched, bounded, and in the form that is taken.
 *
 * Owns why it was not taken, in kinds that anybody may be told. What the network said goes to the log and no further: who
 * opens the page of a login must not learn from it what the relay's own network looks like.
 */
import type { Log } from '../../protocol/ports.ts';
import { cleanText } from '../../protocol/text.ts';
import type { RateLimits } from './rate-limits.ts';
import { type ClientMetadata, documentProblem, normaliseDocument } from './registration.ts';

export type DocumentFault = 'unreachable' | 'unusable' | 'too-often' | 'not-fetched-here';

/** A document that was not taken. The message is for the log. */
export class RefusedDocument extends Error {
  override readonly name = 'RefusedDocument';
  readonly fault: DocumentFault;
  readonly url: string;

  constructor(fault: DocumentFault, url: string, message: string) {
    super(message);
    this.fault = fault;
    this.url = url;
  }
}

/** The refused document that this error came from; null when it came from something else. */
export function refusedDocumentIn(error: unknown): RefusedDocument | null {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof RefusedDocument) return each;
  }
  return null;
}

/** A client's document is short. */
const DOCUMENT_CHARS = 20_000;
/** Of an address or an answer in a log line. */
const LOGGED_CHARS = 300;

/** A request that may need a document. */
export interface Asking {
  /** Who sent it, for the limit. */
  readonly address: string;
  /** The authorization server looks for a client twice in one request; what failed is not tried again. */
  refused: RefusedDocument | null;
}

export interface ClientDocumentsOptions {
  /** Null: nothing is fetched. */
  readonly fetchDocument: ((url: string, init: RequestInit) => Promise<Response>) | null;
  readonly limits: RateLimits;
  readonly asking: () => Asking;
  readonly log: Log;
}

export class ClientDocuments {
  readonly #options: ClientDocumentsOptions;

  constructor(options: ClientDocumentsOptions) {
    this.#options = options;
  }

  get areTaken(): boolean {
    return this.#options.fetchDocument !== null;
  }

  /** Throws when this is not to be fetched for who asks, for now. */
  checkLimit(url: string): void {
    const { address, refused } = this.#options.asking();
    if (refused?.url === url) throw refused;
    if (this.#options.limits.take('client-metadata', address) === null) return;
    throw this.#refuse('too-often', url, 'Documents were asked for too often.');
  }

  /** The document in the form that is taken. */
  async fetch(url: string, init: RequestInit): Promise<Response> {
    const { fetchDocument } = this.#options;
    if (fetchDocument === null) throw this.#refuse('not-fetched-here', url, 'This relay fetches no documents.');
    const got = await answerOf(fetchDocument(url, init));
    if (!('text' in got)) throw this.#refuse('unreachable', url, got.problem);
    const document = objectIn(got.text);
    if (document === null) throw this.#refuse('unusable', url, 'It is too long, or no JSON object.');
    const problem = documentProblem(document, url);
    if (problem !== null) throw this.#refuse('unusable', url, problem);
    const headers = { 'cache-control': got.cacheControl };
    return new Response(JSON.stringify(normaliseDocument(document)), { headers });
  }

  #refuse(fault: DocumentFault, url: string, problem: string): RefusedDocument {
    this.#options.log.warn('oauth.document-refused', { client_id: cleanText(url, LOGGED_CHARS), fault, problem });
    const refused = new RefusedDocument(fault, url, problem);
    this.#options.asking().refused = refused;
    return refused;
  }
}

type Got = { readonly text: string; readonly cacheControl: string } | { readonly problem: string };

async function answerOf(answering: Promise<Response>): Promise<Got> {
  try {
    const response = await answering;
    if (response.status !== 200) return { problem: `It was answered with status ${response.status}.` };
    return { text: await boundedText(response), cacheControl: response.headers.get('cache-control') ?? '' };
  } catch (error) {
    return { problem: cleanText(error, LOGGED_CHARS) };
  }
}

/** A longer one breaks off, and is no JSON then. */
async function boundedText(response: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > DOCUMENT_CHARS) return '';
  }
  return text;
}

function objectIn(text: string): ClientMetadata | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ClientMetadata) : null;
  } catch {
    return null;
  }
}
