/**
 * One tool server: started when it is first needed, and again after it has ended, with pauses that grow while it fails.
 *
 * Owns its connection and what a call may take. A server's failure is an error in words for a person, cleared of what is
 * secret in its configuration.
 */
import type { CallToolResult } from '@modelcontextprotocol/client';
import { Backoff } from '../../protocol/backoff.ts';
import { ERROR_CHARS } from '../../protocol/limits.ts';
import type { Ports } from '../../protocol/ports.ts';
import { cleanText } from '../../protocol/text.ts';
import { pause } from '../../protocol/waiting.ts';
import type { ConnectOptions, McpConnection, ServerTool } from './mcp-connection.ts';
import { SaidLog } from './said-log.ts';
import { Silence } from './silence.ts';
import type { ServerConfig } from './tool-config.ts';
import type { ToolLimits } from './tool-limits.ts';
import { ToolFailure } from './tool-result.ts';

export type ServerState = 'not-started' | 'starting' | 'running' | 'failed';

export interface ToolServerOptions {
  readonly config: ServerConfig;
  readonly ports: Pick<Ports, 'clock' | 'random' | 'log'>;
  readonly limits: ToolLimits;
  readonly connect?: (options: ConnectOptions) => Promise<McpConnection>;
}

export interface ServerCall {
  /** What the server calls the tool. */
  readonly own: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

/** Imported when the first server is needed: the official client takes its time. */
const connectServer = async (options: ConnectOptions) => (await import('./mcp-connection.ts')).connectServer(options);

export class ToolServer {
  readonly config: ServerConfig;
  readonly #options: ToolServerOptions;
  readonly #backoff: Backoff;
  readonly #closing = new AbortController();
  /** Monotonic: it is not started before. */
  #notBefore = Number.NEGATIVE_INFINITY;
  #starting: Promise<McpConnection> | null = null;
  #connection: McpConnection | null = null;
  #problem: string | null = null;

  constructor(options: ToolServerOptions) {
    this.#options = options;
    this.config = options.config;
    this.#backoff = new Backoff(options.ports.random);
  }

  get state(): ServerState {
    if (this.#connection !== null) return 'running';
    if (this.#starting !== null) return 'starting';
    return this.#problem === null ? 'not-started' : 'failed';
  }

  /** What was wrong the last time; null when nothing was. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Its tools as they are now. Starts it when it does not run. */
  tools(signal: AbortSignal): Promise<readonly ServerTool[]> {
    return this.#onConnection(signal, (connection) => this.#toolsOn(connection, signal));
  }

  call(call: ServerCall): Promise<CallToolResult> {
    return this.#onConnection(call.signal, (connection) => this.#callOn(connection, call));
  }

  /** Ends it for good. Resolves when nothing of it is left. */
  async close(): Promise<void> {
    this.#closing.abort();
    const connection = this.#connection ?? (await this.#starting?.catch(() => null));
    this.#connection = null;
    await connection?.close();
  }

  /** On the running connection; on a new one when that has lost its session, since nothing was done then. */
  async #onConnection<T>(signal: AbortSignal, use: (connection: McpConnection) => Promise<T>): Promise<T> {
    const connection = await this.#connected(signal);
    try {
      return await use(connection);
    } catch (error) {
      if (!isNamed(error, 'SessionLost')) throw error;
    }
    this.#drop(connection);
    return use(await this.#connected(signal));
  }

  async #toolsOn(connection: McpConnection, signal: AbortSignal): Promise<readonly ServerTool[]> {
    const { startMs } = this.#options.limits;
    const silence = new Silence(this.#options.ports.clock, { silentMs: startMs, maxMs: startMs, signal });
    try {
      return await connection.tools(silence.signal);
    } catch (error) {
      throw this.#failure(error, { connection, silence, doing: 'listed no tools' });
    } finally {
      silence.end();
    }
  }

  async #callOn(connection: McpConnection, { own, input, signal }: ServerCall): Promise<CallToolResult> {
    const { ports, limits } = this.#options;
    const silentMs = this.config.timeoutMs ?? limits.callSilenceMs;
    const silence = new Silence(ports.clock, { silentMs, maxMs: Math.max(silentMs, limits.callMaxMs), signal });
    const onProgress = () => silence.broken();
    try {
      const result = await connection.call({ name: own, input, signal: silence.signal, onProgress });
      this.#backoff.reset();
      return result;
    } catch (error) {
      if (silence.isOver) void this.#lookAfter(connection);
      throw this.#failure(error, { connection, silence, doing: `gave no answer to ${own}` });
    } finally {
      silence.end();
    }
  }

  /** The running connection. Whoever gives up waiting for it leaves its start to the others. */
  #connected(signal: AbortSignal): Promise<McpConnection> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#error('was ended by the desktop'));
    if (this.#connection !== null) return Promise.resolve(this.#connection);
    this.#starting ??= this.#start().finally(() => {
      this.#starting = null;
    });
    return orAborted(this.#starting, signal);
  }

  async #start(): Promise<McpConnection> {
    const { ports, limits, connect = connectServer } = this.#options;
    const { clock, log } = ports;
    const { name: server, secrets } = this.config;
    const pauseMs = this.#notBefore - clock.monotonic();
    if (pauseMs > 0) await pause(clock, pauseMs, this.#closing.signal);
    this.#closing.signal.throwIfAborted();
    const silence = new Silence(clock, {
      silentMs: limits.startMs,
      maxMs: limits.startMs,
      signal: this.#closing.signal,
    });
    const said = new SaidLog({ server, secrets, clock, log, limits });
    const onSaid = (text: string) => said.take(text);
    try {
      const connection = await connect({ config: this.config, clock, limits, signal: silence.signal, onSaid });
      log.info('tool-server.started', { server });
      this.#connection = connection;
      this.#problem = null;
      connection.onEnd(() => {
        said.end();
        this.#ended(connection);
      });
      return connection;
    } catch (error) {
      said.end();
      const failure = this.#failure(error, { connection: null, silence, doing: 'did not start' });
      this.#failed(failure.message);
      throw failure;
    } finally {
      silence.end();
    }
  }

  #ended(connection: McpConnection): void {
    if (this.#connection !== connection) return;
    this.#connection = null;
    if (!this.#closing.signal.aborted) this.#failed(this.#error(connection.ending() ?? 'has ended').message);
  }

  #failed(problem: string): void {
    const { clock, log } = this.#options.ports;
    const pauseMs = this.#backoff.next();
    this.#notBefore = clock.monotonic() + pauseMs;
    this.#problem = problem;
    log.warn('tool-server.failed', { server: this.config.name, reason: problem, not_again_for_ms: pauseMs });
  }

  /** A server that did not answer a call and says nothing else either hangs: the next call gets a new one. */
  async #lookAfter(connection: McpConnection): Promise<void> {
    const { ports, limits } = this.#options;
    const { signOfLifeMs } = limits;
    const silence = new Silence(ports.clock, {
      silentMs: signOfLifeMs,
      maxMs: signOfLifeMs,
      signal: this.#closing.signal,
    });
    await connection.signOfLife(silence.signal).catch(() => {
      if (!silence.isOver || connection.ending() !== null) return;
      this.#failed(this.#error('hangs, and is started anew').message);
      this.#drop(connection);
    });
    silence.end();
  }

  #drop(connection: McpConnection): void {
    if (this.#connection === connection) this.#connection = null;
    connection.close().catch(() => {});
  }

  /** What went wrong, for a person. The reason of whoever gave up is passed on as it is. */
  #failure(
    error: unknown,
    at: { readonly connection: McpConnection | null; readonly silence: Silence; readonly doing: string },
  ): Error {
    const { connection, silence, doing } = at;
    if (isNamed(error, 'SessionLost')) return error;
    if (silence.isOver) return this.#error(`${doing} within ${silence.limitMs / 1_000} s`);
    if (silence.signal.aborted) return silence.reason;
    const ending = connection?.ending() ?? null;
    if (ending !== null) return this.#error(`${ending} during the call`);
    if (isNamed(error, 'ServerRefusal')) return this.#error(`refused the call: ${error.message}`);
    return this.#error(`${connection === null ? doing : 'could not be asked'}: ${reasonOf(error)}`);
  }

  #error(what: string): ToolFailure {
    const { name, secrets } = this.config;
    return new ToolFailure(cleanText(secrets.clear(`the tool server "${name}" ${what}`), ERROR_CHARS));
  }
}

/** Known by name: the classes come with the client, which may not be there. */
function isNamed(error: unknown, name: 'SessionLost' | 'ServerRefusal'): error is Error {
  return error instanceof Error && error.name === name;
}

/** The innermost message: `fetch failed` alone helps nobody. */
function reasonOf(error: unknown): string {
  let inner = error;
  for (let depth = 0; depth < 5 && inner instanceof Error && inner.cause instanceof Error; depth++) inner = inner.cause;
  return cleanText(inner, ERROR_CHARS);
}

async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // Whoever gives up leaves it to others, and maybe to nobody.
  promise.catch(() => {});
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
