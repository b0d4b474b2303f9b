/**
 * The key of a model's service: where it comes from, and that no message shows it.
 *
 * Owns the reading. A key is kept in memory only, and given to the call that it is for.
 */
import type { Clock } from '../../../protocol/ports.ts';
import { programName, runProgram } from './local-program.ts';

export interface ModelKey {
  /** Where it comes from, for a person: `the variable ANTHROPIC_API_KEY`; null when none is sent. */
  readonly source: string | null;
  /** Null when none is sent. Rejects, with a message that says what to do, when it should be there and is not. */
  read(): Promise<string | null>;
  /** The service refused it: the next call looks anew. */
  forget(): void;
}

/** Programs that unlock a store of secrets may have to ask their owner. */
const KEY_COMMAND_TIMEOUT_MS = 60_000;
const MAX_KEY_BYTES = 16 * 1024;

export const NO_KEY: ModelKey = { source: null, read: async () => null, forget: () => undefined };

export function keyFromVariable(name: string, environment: Readonly<Record<string, string | undefined>>): ModelKey {
  async function read(): Promise<string> {
    const key = environment[name]?.trim() ?? '';
    if (key === '')
      throw new Error(`has no key: set the variable ${name} where the desktop is started, and start it again`);
    return usable(key, `the variable ${name}`);
  }
  return { source: `the variable ${name}`, read, forget: () => undefined };
}

/** The program's standard output is the key. It is asked once, and again after the service has refused its key. */
export function keyFromCommand(command: readonly string[], clock: Clock): ModelKey {
  const name = programName(command);
  let reading: Promise<string> | null = null;

  async function run(): Promise<string> {
    const { signal } = new AbortController();
    const limits = { timeoutMs: KEY_COMMAND_TIMEOUT_MS, maxOutputBytes: MAX_KEY_BYTES };
    const end = await runProgram({ command, input: '', signal, clock, ...limits }).catch((error: Error) => {
      throw new Error(`has no key: ${error.message}`);
    });
    // What it wrote is not shown: it may be the key.
    if (end.failure !== null) throw new Error(`has no key: ${name} ${end.failure}${end.stderr && `: ${end.stderr}`}`);
    const key = end.stdout.trim();
    if (key === '') throw new Error(`has no key: ${name} printed nothing`);
    return usable(key, `the output of ${name}`);
  }

  function read(): Promise<string> {
    reading ??= run().catch((error: unknown) => {
      reading = null;
      throw error;
    });
    return reading;
  }

  return {
    source: name,
    read,
    forget: () => {
      reading = null;
    },
  };
}

/** A key goes into a header, where line breaks and the like would be refused with a message of the runtime's. */
function usable(key: string, where: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new Error(`has no usable key: ${where} holds blanks, line breaks or other characters that no key has`);
}

/** Shorter ones (`ollama`, `none`) are no secret, and words of messages. */
const SECRET_CHARS = 8;
/** What keys of the known services look like, cut and masked ones too. */
const KEY_LIKE = /\b(?:sk|pk|rk|xai|gsk|ghp|gho|hf)[-_][\w*.…-]{6,}|\bAIza[\w-]{20,}/g;
const BEARER = /\bbearer\s+[\w.~+/*-]{6,}=*/gi;

const HIDDEN = '[key]';

/** The text without the key, as it is and as it would stand in JSON or in a URL, and without what looks like one. */
export function withoutKey(text: string, key: string | null): string {
  const forms =
    key === null || key.length < SECRET_CHARS ? [] : [key, JSON.stringify(key).slice(1, -1), encodeURIComponent(key)];
  const clean = forms.reduce((rest, form) => rest.replaceAll(form, HIDDEN), text);
  return clean.replace(BEARER, `Bearer ${HIDDEN}`).replace(KEY_LIKE, HIDDEN);
}
