/**
 * One connection to a tool server, through the official client of the Model Context Protocol.
 *
 * Owns how a server is reached and which versions of the protocol are tried. Imported when the first server is needed:
 * a desktop without tools does not pay for it. Must not decide when to connect, or how long a call may take.
 */
import {
  type CallToolResult,
  Client,
  ProtocolError,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/client/validators/cf-worker';
import type { Clock } from '../../protocol/ports.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { ServerProcess } from './server-process.ts';
import type { HttpServer, ServerConfig } from './tool-config.ts';
import type { ToolLimits } from './tool-limits.ts';

export interface ConnectOptions {
  readonly config: ServerConfig;
  readonly clock: Clock;
  readonly limits: ToolLimits;
  /** Aborted when nobody waits for the connection any more. */
  readonly signal: AbortSignal;
  /** Called with what the server says on standard error, in pieces. */
  readonly onSaid: (text: string) => void;
}

/** A tool, as its server lists it. */
export interface ServerTool {
  readonly name: string;
  readonly description: string;
}

export interface McpCall {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Aborted when the answer is not wanted any more; the server is told. */
  readonly signal: AbortSignal;
  /** The server has told of its progress. */
  readonly onProgress: () => void;
}

export interface McpConnection {
  /** As they are now; asked for again only when the server said that they have changed. */
  tools(signal: AbortSignal): Promise<readonly ServerTool[]>;
  /** Resolves when the server has answered anything at all. */
  signOfLife(signal: AbortSignal): Promise<void>;
  call(call: McpCall): Promise<CallToolResult>;
  /** How it ended, for a person; null while it is there. */
  ending(): string | null;
  /** Called once, when it has ended. */
  onEnd(listener: () => void): void;
  /** Resolves when nothing of it is left. */
  close(): Promise<void>;
}

/** The server does not know this session any more: what was sent was not done, and a new connection helps. */
export class SessionLost extends Error {
  override readonly name = 'SessionLost';
}

/** The server has answered, with an error of the protocol. */
export class ServerRefusal extends Error {
  override readonly name = 'ServerRefusal';
}

/** The longest that the system's timers take: the time of a call is measured by whoever makes it. */
const NO_TIMEOUT_MS = 2_147_483_647;

/** How long a server over HTTP is waited for when it is told that its session ends. */
const GOODBYE_MS = 1_000;

/**
 * A program is greeted in the way that nearly all know; who refuses that is asked for its versions, by a new process, since
 * the greeting may have ended it. Over HTTP asking is harmless.
 */
export async function connectServer(options: ConnectOptions): Promise<McpConnection> {
  if (options.config.kind === 'http') return connected(options, 'auto');
  try {
    return await connected(options, 'legacy');
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return connected(options, 'auto');
  }
}

async function connected(options: ConnectOptions, mode: 'legacy' | 'auto'): Promise<McpConnection> {
  const connection = new ClientConnection(options);
  try {
    await connection.open(mode);
    return connection;
  } catch (error) {
    const ending = connection.ending();
    await connection.close();
    // How it ended says more than that it is closed.
    throw ending === null || error instanceof ProtocolError ? error : new Error(ending);
  }
}

class ClientConnection implements McpConnection {
  readonly #options: ConnectOptions;
  readonly #transport: Transport & { readonly ending?: string | null };
  #client: Client | null = null;
  #tools: readonly ServerTool[] | null = null;
  #ending: string | null = null;
  #closing = false;
  readonly #listeners: (() => void)[] = [];

  constructor(options: ConnectOptions) {
    this.#options = options;
    const { config, clock, limits, onSaid } = options;
    this.#transport =
      config.kind === 'stdio' ? new ServerProcess({ config, clock, limits, onSaid }) : this.#httpTransport(config);
  }

  async open(mode: 'legacy' | 'auto'): Promise<void> {
    const client = new Client(
      { name: 'graph-relay', version: '1' },
      {
        // Without `eval`: schemas are the server's.
        jsonSchemaValidator: new CfWorkerJsonSchemaValidator(),
        versionNegotiation: { mode },
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.#forgetTools() } },
      },
    );
    this.#client = client;
    client.onclose = () => this.#end(this.#transport.ending ?? 'closed the connection');
    const { signal } = this.#options;
    const aborted = () => void this.close().catch(() => {});
    signal.addEventListener('abort', aborted, { once: true });
    try {
      await client.connect(this.#transport, { timeout: NO_TIMEOUT_MS, signal });
    } finally {
      signal.removeEventListener('abort', aborted);
    }
  }

  async tools(signal: AbortSignal): Promise<readonly ServerTool[]> {
    this.#tools ??= await this.#listTools(signal);
    return this.#tools;
  }

  async signOfLife(signal: AbortSignal): Promise<void> {
    await this.#listTools(signal).catch((error: unknown) => {
      if (!(error instanceof ServerRefusal)) throw error;
    });
  }

  async call({ name, input, signal, onProgress }: McpCall): Promise<CallToolResult> {
    const options = { signal, timeout: NO_TIMEOUT_MS, onprogress: onProgress };
    return this.#heard((client) => client.callTool({ name, arguments: input }, options));
  }

  ending(): string | null {
    return this.#ending ?? this.#transport.ending ?? null;
  }

  onEnd(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async close(): Promise<void> {
    this.#closing = true;
    const { sessionId } = this.#transport;
    const hears = sessionId !== undefined && this.#ending === null;
    if (hears && this.#transport instanceof StreamableHTTPClientTransport) await this.#sayGoodbye(this.#transport);
    await this.#transport.close();
    // A transport that never opened tells nobody that it is closed.
    this.#end(this.#transport.ending ?? 'was left by the desktop');
  }

  async #listTools(signal: AbortSignal): Promise<ServerTool[]> {
    const { toolsPerServer } = this.#options.limits;
    return this.#heard(async (client) => {
      // Asked for its tools all the same, the client would say on standard output that there are none.
      if (client.getServerCapabilities()?.tools === undefined) return [];
      const { tools } = await client.listTools(undefined, { signal, timeout: NO_TIMEOUT_MS, cacheMode: 'refresh' });
      return tools.slice(0, toolsPerServer).map(({ name, description = '' }) => ({ name, description }));
    });
  }

  async #heard<T>(ask: (client: Client) => Promise<T>): Promise<T> {
    if (this.#client === null || this.#ending !== null) throw new Error(this.#ending ?? 'is not connected');
    try {
      return await ask(this.#client);
    } catch (error) {
      // The protocol's word for a session that is over. Nothing was done.
      if (error instanceof SdkHttpError && error.status === 404)
        throw new SessionLost('does not know its session any more');
      throw error instanceof ProtocolError ? new ServerRefusal(error.message) : error;
    }
  }

  #forgetTools(): void {
    this.#tools = null;
  }

  #httpTransport({ url, headers }: HttpServer): Transport {
    const onBroken = (reason: string) => {
      if (this.#closing) return;
      this.#end(reason);
      this.close().catch(() => {});
    };
    const fetch = boundedFetch({ maxBytes: this.#options.limits.messageBytes, onBroken });
    return new StreamableHTTPClientTransport(url, { requestInit: { headers }, fetch });
  }

  async #sayGoodbye(transport: StreamableHTTPClientTransport): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = this.#options.clock.after(GOODBYE_MS, late.resolve);
    await Promise.race([transport.terminateSession().catch(() => {}), late.promise]);
    timer.cancel();
  }

  #end(reason: string): void {
    if (this.#ending !== null) return;
    this.#ending = reason;
    for (const listener of this.#listeners) listener();
  }
}
