/**
 * Why a model's service gave no answer, for the person who has to do something about it.
 *
 * Owns the words. What a service says itself is shown in short and clean; keys are taken out by who throws it.
 */
import { APICallError } from '@ai-sdk/provider';
import { cleanText } from '../../../protocol/text.ts';
import type { ModelEndpoint } from './language-model.ts';
import { isOutOfCredit, networkCode, wantedPause } from './model-retry.ts';

export interface FailedCall extends ModelEndpoint {
  /** Where the key comes from; null when none was sent. */
  readonly keySource: string | null;
  /** How often the service was asked. */
  readonly tries: number;
  readonly now: number;
}

const SAID_CHARS = 300;

/** Who mostly listens on these ports. */
const SERVERS: Readonly<Record<string, string>> = {
  11434: 'Ollama',
  1234: 'LM Studio',
  8080: 'llama.cpp',
  8000: 'vLLM',
};

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET)/;

export function failureText(error: unknown, call: FailedCall): string {
  if (APICallError.isInstance(error) && error.statusCode !== undefined)
    return statusText(error, error.statusCode, call);
  const code = networkCode(error);
  return code === null ? `got no answer that can be read: ${cleanText(error, SAID_CHARS)}` : networkText(code, call);
}

function networkText(code: string, call: FailedCall): string {
  const { host, port } = new URL(call.url);
  if (code === 'ECONNREFUSED') {
    return `finds nobody at ${call.url} (connection refused). Is ${SERVERS[port] ?? 'the server'} running there?`;
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return `cannot find the host ${host} (${code}). Check the url in agents.json, and the network`;
  }
  if (code === 'ECONNRESET' || code === 'EPIPE') {
    return `lost the connection to ${call.url} before an answer came${inVain(call)}`;
  }
  if (CERTIFICATE.test(code)) {
    return `does not trust the certificate of ${call.url} (${code}). Start the desktop with --ca and its authority`;
  }
  return `cannot reach ${call.url} (${code})`;
}

function statusText(error: APICallError, status: number, call: FailedCall): string {
  const said = whatItSaid(error);
  const and = said === '' ? '' : `: ${said}`;
  if (isOutOfCredit(error)) return `has no credit left at ${call.url} (HTTP ${status})${and}`;
  if (status === 401 || status === 403) return `${keyText(call)} (HTTP ${status})${and}`;
  if (status === 404) return `${modelText(call)} (HTTP 404)${and}`;
  if (status === 429)
    return `is asked too often at ${call.url} (HTTP 429)${inVain(call)}. ${pauseText(error, call)}${and}`;
  if (status >= 500 || status === 408) return `got HTTP ${status} from ${call.url}${inVain(call)}${and}`;
  if (status >= 400) return `was refused by ${call.url} (HTTP ${status})${and}`;
  return `got no answer of such a service from ${call.url} (HTTP ${status}). Check the url in agents.json`;
}

function keyText({ keySource, url }: FailedCall): string {
  if (keySource !== null)
    return `was refused by ${url}: it does not take the key in ${keySource}. Put a valid key there`;
  return `was refused by ${url}: it wants a key. Name the variable that holds it with api_key_env in agents.json`;
}

function modelText({ url, model }: FailedCall): string {
  const pull = new URL(url).port === '11434' ? ` (\`ollama pull ${model}\` gets it)` : '';
  return `finds no model "${model}" at ${url}. Check its name${pull}, and the url: most end with /v1`;
}

function pauseText(error: APICallError, { now }: FailedCall): string {
  const waitMs = wantedPause(error, now);
  return waitMs === null ? 'Try again later' : `It says to try again in ${Math.ceil(waitMs / 1_000)} s`;
}

function inVain({ tries }: FailedCall): string {
  return tries > 1 ? `, ${tries} times` : '';
}

/** The service's own words. Pages of a proxy between are not shown: they say nothing about the model. */
function whatItSaid({ message, responseBody = '', data }: APICallError): string {
  return cleanText(data === undefined ? wordsIn(responseBody) : message, SAID_CHARS).trim();
}

/** Servers that do as OpenAI does, but for the shape of their errors. */
function wordsIn(body: string): string {
  try {
    const { error, message, detail } = JSON.parse(body) as Record<string, unknown>;
    return [error, message, detail].find((words) => typeof words === 'string') ?? '';
  } catch {
    return '';
  }
}
