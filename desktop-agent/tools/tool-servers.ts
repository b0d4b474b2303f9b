/**
 * The tool servers of this desktop, as `tools.json` names them.
 *
 * Owns which ones there are. The file is looked at whenever a tool is needed, so that a change counts at once; a server
 * whose entry has changed is ended. While the file cannot be read the servers stay as they were: half a file is what an
 * editor leaves behind for a moment.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ports } from '../../protocol/ports.ts';
import { type ConfigProblem, type Environment, parseToolConfig, type ServerConfig } from './tool-config.ts';
import { CONFIG_BYTES, type ToolLimits } from './tool-limits.ts';
import { ToolServer, type ToolServerOptions } from './tool-server.ts';

/** Where the configuration is, in the desktop's data folder. */
export function toolsFile(directory: string): string {
  return join(directory, 'tools.json');
}

export interface ToolServersOptions {
  /** Where `tools.json` is, or may be. */
  readonly path: string;
  readonly environment: Environment;
  readonly ports: Pick<Ports, 'clock' | 'random' | 'log'>;
  readonly limits: ToolLimits;
  readonly connect?: ToolServerOptions['connect'];
}

export class ToolServers {
  readonly #options: ToolServersOptions;
  readonly #servers = new Map<string, ToolServer>();
  #problems: readonly ConfigProblem[] = [];
  /** What the file was when it was read last. */
  #seen: string | null = null;
  #looking: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: ToolServersOptions) {
    this.#options = options;
  }

  get path(): string {
    return this.#options.path;
  }

  /** What is wrong with the file, as it was when it was looked at last. */
  get problems(): readonly ConfigProblem[] {
    return this.#problems;
  }

  async list(): Promise<ToolServer[]> {
    await this.#look();
    return [...this.#servers.values()];
  }

  async named(name: string): Promise<ToolServer | null> {
    await this.#look();
    return this.#servers.get(name) ?? null;
  }

  /** Ends all of them. Resolves when nothing of them is left. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#looking;
    await Promise.allSettled([...this.#servers.values()].map((server) => server.close()));
  }

  /** One look at a time: two at once would each start a server of their own. */
  #look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#lookNow());
    return this.#looking;
  }

  /** Never rejects: what is wrong with the file is what there is to see. */
  async #lookNow(): Promise<void> {
    if (this.#closed) return;
    const { path } = this.#options;
    try {
      const { mtimeMs, size, ino } = await stat(path);
      const seen = `${mtimeMs} ${size} ${ino}`;
      if (seen === this.#seen) return;
      if (size > CONFIG_BYTES) throw new Error(`it is larger than ${CONFIG_BYTES} bytes`);
      this.#take(await readFile(path, 'utf8'));
      this.#seen = seen;
    } catch (error) {
      this.#seen = null;
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') this.#take('{"mcpServers": {}}');
      else this.#report([{ server: null, problem: error instanceof Error ? error.message : String(error) }]);
    }
  }

  #take(text: string): void {
    const { servers, problems } = parseToolConfig(text, this.#options.environment);
    this.#report(problems);
    if (problems.some(({ server }) => server === null)) return;
    const wanted = new Map(servers.map((config) => [config.name, config]));
    for (const [name, server] of this.#servers) {
      if (wanted.get(name)?.written === server.config.written) continue;
      this.#servers.delete(name);
      server.close().catch(() => {});
    }
    for (const config of wanted.values()) {
      if (!this.#servers.has(config.name)) this.#servers.set(config.name, this.#made(config));
    }
  }

  #made(config: ServerConfig): ToolServer {
    const { ports, limits, connect } = this.#options;
    return new ToolServer({ config, ports, limits, ...(connect && { connect }) });
  }

  #report(problems: readonly ConfigProblem[]): void {
    const before = JSON.stringify(this.#problems);
    this.#problems = problems;
    if (JSON.stringify(problems) === before) return;
    for (const { server, problem } of problems) {
      this.#options.ports.log.warn('tools.config-problem', { file: this.path, server, problem });
    }
  }
}
