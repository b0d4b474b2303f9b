/**
 * The tools of this desktop: what a Graph calls, and what its owner sees and decides.
 *
 * Owns the way of a call: the name, what is denied, whether there is such a tool, the owner's word, the server. A question
 * is asked only when its answer counts: about a tool that there is, and that nothing has decided.
 */
import type { Ports, StateStore } from '../../protocol/ports.ts';
import { type ToolHost, ToolRefused, type ToolRequest } from '../engine/tool-host.ts';
import type { DesktopTables } from '../rows.ts';
import { Approvals } from './approvals.ts';
import { Permissions } from './permissions.ts';
import type { Environment } from './tool-config.ts';
import { DEFAULT_TOOL_LIMITS, type ToolLimits } from './tool-limits.ts';
import { parseToolName, TOOL_NAME_RULE } from './tool-names.ts';
import { toolValue } from './tool-result.ts';
import type { ToolServer, ToolServerOptions } from './tool-server.ts';
import { ToolServers } from './tool-servers.ts';

export interface DesktopToolsOptions {
  /** Where `tools.json` is, or may be. */
  readonly path: string;
  readonly environment: Environment;
  readonly ports: Ports;
  readonly store: StateStore<DesktopTables>;
  /** What differs from {@link DEFAULT_TOOL_LIMITS}. */
  readonly limits?: Partial<ToolLimits>;
  readonly connect?: ToolServerOptions['connect'];
}

export class DesktopTools implements ToolHost {
  readonly servers: ToolServers;
  readonly permissions: Permissions;
  readonly approvals: Approvals;
  readonly limits: ToolLimits;

  constructor({ path, environment, ports, store, connect, ...options }: DesktopToolsOptions) {
    this.limits = { ...DEFAULT_TOOL_LIMITS, ...options.limits };
    const { limits } = this;
    this.servers = new ToolServers({ path, environment, ports, limits, ...(connect && { connect }) });
    this.permissions = new Permissions({ store, clock: ports.clock });
    this.approvals = new Approvals({ ...ports, permissions: this.permissions, most: limits.openApprovals });
  }

  async call(request: ToolRequest): Promise<unknown> {
    const { tool, signal } = request;
    const name = parseToolName(tool);
    if (name === null) throw new ToolRefused(`"${tool}" is no tool: they are called server.tool, ${TOOL_NAME_RULE}`);
    const input = objectIn(request);
    this.#refuseDenied(tool);
    const server = await this.#serverOf(name.server);
    await refuseUnknown(server, { tool, own: name.own, signal });
    if ((await this.#word(request)) === 'deny') throw new ToolRefused(`the owner did not allow ${tool}`);
    const result = await server.call({ own: name.own, input, signal });
    const clear = (text: string) => server.config.secrets.clear(text);
    return toolValue(tool, result, { resultChars: this.limits.resultChars, clear });
  }

  /** Ends the servers. The runs that use them have ended. */
  close(): Promise<void> {
    return this.servers.close();
  }

  #refuseDenied(tool: string): void {
    const { rule, pattern } = this.permissions.of(tool);
    if (rule !== 'deny') return;
    throw new ToolRefused(`the owner denies ${tool}${pattern === tool ? '' : ` (${pattern})`}`);
  }

  async #word(request: ToolRequest): Promise<'allow' | 'deny'> {
    const { rule } = this.permissions.of(request.tool);
    return rule === 'ask' ? this.approvals.ask(request) : rule;
  }

  async #serverOf(name: string): Promise<ToolServer> {
    const server = await this.servers.named(name);
    if (server !== null) return server;
    const { problems } = this.servers;
    const problem = problems.find((each) => each.server === name) ?? problems.find((each) => each.server === null);
    if (problem !== undefined) throw new ToolRefused(`the tool server "${name}" is not usable: ${problem.problem}`);
    const known = (await this.servers.list()).map((each) => each.config.name);
    const hint = known.length === 0 ? 'tools.json of this desktop names none' : `there are ${known.join(', ')}`;
    throw new ToolRefused(`there is no tool server "${name}": ${hint}`);
  }
}

async function refuseUnknown(
  server: ToolServer,
  { tool, own, signal }: { tool: string; own: string; signal: AbortSignal },
): Promise<void> {
  const tools = await server.tools(signal);
  if (tools.some(({ name }) => name === own)) return;
  const near = tools.map(({ name }) => `${server.config.name}.${name}`).slice(0, 20);
  const hint = near.length === 0 ? 'its server has no tools' : `its server has ${near.join(', ')}`;
  throw new ToolRefused(`there is no tool ${tool}: ${hint}`);
}

/** The protocol knows objects only. Nothing at all is an empty one. */
function objectIn({ tool, input }: ToolRequest): Readonly<Record<string, unknown>> {
  const value = input ?? {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Readonly<Record<string, unknown>>;
  throw new ToolRefused(`the input of ${tool} has to be an object, such as { path: "a.txt" }`);
}
