/**
 * `tools.json`: which tool servers there are, in the form that people know from other programs.
 *
 * Owns the form, `${VAR}`, and what is said of a file that does not fit: a mistake in one server leaves the others alone.
 * Must not start anything. What it gives away must not be shown as it is: it holds secrets, see `secrets.ts`.
 */
import { z } from 'zod';
import { OWN_SECRETS } from '../own-secrets.ts';
import { Secrets } from './secrets.ts';
import { CALL_TIMEOUT_MS } from './tool-limits.ts';
import { isServerName, SERVER_NAME_RULE } from './tool-names.ts';

interface AnyServer {
  readonly name: string;
  /** How long a call may be silent, in milliseconds; null for the usual time. */
  readonly timeoutMs: number | null;
  readonly secrets: Secrets;
  /** Its entry as it was written: another one is another server. */
  readonly written: string;
}

export interface ProcessServer extends AnyServer {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  /** What it gets beside the few variables that every program needs. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
}

export interface HttpServer extends AnyServer {
  readonly kind: 'http';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

export type ServerConfig = ProcessServer | HttpServer;

export interface ConfigProblem {
  /** Null when it is about the whole file. */
  readonly server: string | null;
  readonly problem: string;
}

export interface ToolConfig {
  readonly servers: readonly ServerConfig[];
  readonly problems: readonly ConfigProblem[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

const fileSchema = z.object({ mcpServers: z.record(z.string(), z.unknown()) });

/** More members may stand there: the same file serves other programs. */
const serverSchema = z.object({
  type: z.string().optional(),
  command: z.string().min(1).optional(),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  cwd: z.string().min(1).optional(),
  url: z.string().min(1).optional(),
  headers: z.record(z.string(), z.string()).default({}),
  timeout: z.number().min(CALL_TIMEOUT_MS.min).max(CALL_TIMEOUT_MS.max).optional(),
  disabled: z.boolean().default(false),
});
type WrittenServer = z.infer<typeof serverSchema>;

/** A mistake in the file, in words for its owner. */
class Mistake extends Error {}

export function parseToolConfig(text: string, environment: Environment): ToolConfig {
  const problems: ConfigProblem[] = [];
  const servers: ServerConfig[] = [];
  let written: Readonly<Record<string, unknown>>;
  try {
    written = entriesIn(text);
  } catch (error) {
    return { servers, problems: [{ server: null, problem: messageOf(error) }] };
  }
  for (const [name, entry] of Object.entries(written)) {
    try {
      const server = serverOf(name, entry, environment);
      if (server !== null) servers.push(server);
    } catch (error) {
      problems.push({ server: name, problem: messageOf(error) });
    }
  }
  return { servers, problems };
}

function entriesIn(text: string): Readonly<Record<string, unknown>> {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw new Mistake(`it is not JSON${placeOf(error, text)}`);
  }
  const parsed = fileSchema.safeParse(file);
  if (parsed.success) return parsed.data.mcpServers;
  throw new Mistake('it has no "mcpServers": expected {"mcpServers": {"NAME": {"command": …} or {"url": …}}}');
}

/** The parser's own message quotes what stands there, and that may be a secret. */
function placeOf(error: unknown, text: string): string {
  const position = /position (\d+)/.exec(messageOf(error))?.[1];
  if (position === undefined) return '';
  const before = text.slice(0, Number(position)).split('\n');
  return `: look at line ${before.length}, column ${before.at(-1)!.length + 1}`;
}

/** Null for one that is switched off. */
function serverOf(name: string, entry: unknown, environment: Environment): ServerConfig | null {
  if (!isServerName(name)) throw new Mistake(`a server is called by ${SERVER_NAME_RULE}: rename it`);
  const parsed = serverSchema.safeParse(entry);
  if (!parsed.success) throw new Mistake(problemIn(parsed.error));
  const server = parsed.data;
  if (server.disabled) return null;
  const secrets = new Secrets();
  const expand = (text: string) => expanded(text, environment, secrets);
  const common = { name, timeoutMs: server.timeout ?? null, secrets, written: JSON.stringify(entry) };
  return isHttp(server)
    ? { ...common, kind: 'http', ...httpParts(server, expand, secrets) }
    : { ...common, kind: 'stdio', ...processParts(server, expand, secrets) };
}

function problemIn({ issues: [issue] }: z.ZodError): string {
  return `${issue?.path.join('.') || 'its entry'}: ${issue?.message ?? 'does not fit'}`;
}

const HTTP_TYPES: readonly string[] = ['http', 'streamable-http', 'streamableHttp'];

function isHttp({ type, command, url }: WrittenServer): boolean {
  if (type === 'sse') throw new Mistake('the transport "sse" was replaced by Streamable HTTP (type "http")');
  if (type !== undefined && type !== 'stdio' && !HTTP_TYPES.includes(type)) {
    throw new Mistake(`there is no type ${JSON.stringify(type)}: "stdio" for a program, "http" for an address`);
  }
  if ((command === undefined) === (url === undefined)) {
    throw new Mistake('give either "command", a program that is started, or "url", the address of one that runs');
  }
  const wants = type === undefined ? null : type === 'stdio' ? command : url;
  if (wants === undefined) throw new Mistake(`the type "${type}" needs ${type === 'stdio' ? '"command"' : '"url"'}`);
  return url !== undefined;
}

type Expand = (text: string) => string;

function httpParts({ url: written, headers }: WrittenServer, expand: Expand, secrets: Secrets) {
  const address = expand(written!);
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new Mistake('"url" is not an address that begins with http:// or https://');
  }
  secrets.addAddress(url);
  const expandedHeaders = mapValues(headers, expand);
  for (const value of Object.values(expandedHeaders)) secrets.addHeader(value);
  try {
    new Headers(expandedHeaders);
  } catch {
    // The system's message would quote the value.
    throw new Mistake('"headers" has a name or a value that HTTP does not allow');
  }
  return { url, headers: expandedHeaders };
}

function processParts({ command, args, env, cwd }: WrittenServer, expand: Expand, secrets: Secrets) {
  const expandedEnv = mapValues(env, expand);
  for (const [name, value] of Object.entries(expandedEnv)) secrets.addValue(name, value);
  const parts = { command: expand(command!), args: args.map(expand), cwd: cwd === undefined ? null : expand(cwd) };
  const texts = [parts.command, ...parts.args, ...Object.entries(expandedEnv).flat(), parts.cwd ?? ''];
  if (texts.some((text) => text.includes('\0'))) throw new Mistake('it holds a NUL character');
  return { ...parts, env: expandedEnv };
}

function mapValues(record: Readonly<Record<string, string>>, map: Expand): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

/** `${VAR}` or `${VAR:-what it is otherwise}`. */
const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

function expanded(text: string, environment: Environment, secrets: Secrets): string {
  return text.replace(VARIABLE, (_all, name: string, otherwise: string | undefined) => {
    if (OWN_SECRETS.includes(name)) throw new Mistake(`\${${name}} is not given to tool servers`);
    const value = (Object.hasOwn(environment, name) && environment[name]) || otherwise;
    if (value === undefined) {
      throw new Mistake(
        `\${${name}} is not set: set the variable for the desktop and start it again, or remove the server`,
      );
    }
    secrets.addValue(name, value);
    return value;
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
