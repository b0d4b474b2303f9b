/** The tools of a desktop without the desktop: a folder with `tools.json`, a store in memory, and calls as an engine makes them. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { seededIds, seededRandom } from '../../bench/sim/seeded.ts';
import type { ToolRequest } from '../../desktop-agent/engine/tool-host.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import type { GraphEvent } from '../../desktop-agent/run-events.ts';
import { DesktopTools, type DesktopToolsOptions } from '../../desktop-agent/tools/desktop-tools.ts';
import { createToolsAdmin } from '../../desktop-agent/tools/tools-api.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';
import type { Clock, LogFields } from '../../protocol/ports.ts';
import { tempFolder } from '../process/support.ts';

export const COMMAND_ID = '0b5c3f0e-52a4-4b6f-9b7e-0d7c6f3a1e22';
export const RUN_ID = '11111111-1111-4111-8111-111111111111';
export const NEVER = new AbortController().signal;

export interface Line {
  readonly level: string;
  readonly event: string;
  readonly fields: LogFields;
}

export interface Bench {
  readonly folder: string;
  readonly tools: DesktopTools;
  readonly admin: ReturnType<typeof createToolsAdmin>;
  readonly lines: Line[];
  /** What the runs were told of approvals. */
  readonly events: GraphEvent[];
  readonly call: (tool: string, input?: unknown, more?: Partial<ToolRequest>) => Promise<unknown>;
  readonly configure: (servers: unknown) => Promise<void>;
}

export interface BenchOptions extends Partial<Pick<DesktopToolsOptions, 'environment' | 'limits' | 'connect'>> {
  readonly servers?: object;
  readonly clock?: Clock;
  /** Patterns that are allowed. Everything, unless told otherwise. */
  readonly allow?: readonly string[];
}

export async function createBench(t: Test, options: BenchOptions = {}): Promise<Bench> {
  const { clock = systemClock, environment = {}, limits, connect, servers, allow = ['*'] } = options;
  const folder = await tempFolder(t);
  const path = join(folder, 'tools.json');
  const configure = (mcpServers: unknown) => writeFile(path, JSON.stringify({ mcpServers }));
  if (servers !== undefined) await configure(servers);
  const lines: Line[] = [];
  const write =
    (level: string) =>
    (event: string, fields: LogFields = {}) =>
      void lines.push({ level, event, fields });
  const log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  const random = seededRandom(1);
  const ports = { clock, log, ids: seededIds(random), random: { next: () => 0.5 } };
  const store = createMemoryState<DesktopTables>({ tables: DESKTOP_TABLES, clock, syncDelayMs: 0 });
  const more = { ...(limits && { limits }), ...(connect && { connect }) };
  const tools = new DesktopTools({ path, environment, ports, store, ...more });
  t.teardown(() => tools.close());
  for (const pattern of allow) await tools.permissions.set(pattern, 'allow');
  const events: GraphEvent[] = [];
  let calls = 0;
  const call: Bench['call'] = (tool, input, changes = {}) => {
    calls += 1;
    const onEvent = (event: GraphEvent) => void events.push(event);
    const base = { commandId: COMMAND_ID, runId: RUN_ID, call: calls, tool, input, signal: NEVER, onEvent };
    return tools.call({ ...base, ...changes });
  };
  return { folder, tools, admin: createToolsAdmin(tools), lines, events, call, configure };
}

/** A program that is a tool server with odd tools; see odd-server.ts. */
export function oddServer(more: object = {}, ...args: readonly string[]) {
  const program = fileURLToPath(new URL('./odd-server.ts', import.meta.url));
  return { command: process.execPath, args: [program, ...args], ...more };
}
