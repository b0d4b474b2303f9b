/**
 * The permissions that Graph Relay needs under Deno 2, and nothing more: `deno run <flags> graph-relay.ts …`.
 *
 * Owns the one list that README and tests use. What each one is for:
 * - `--allow-net`: the relay's address (listened on by the server, called by the desktop), and the process's own Unix
 *   socket, over which the command line talks to it. The desktop may listen on no TCP port: it is not allowed any.
 * - `--allow-read`, `--allow-write`: the data folder. The desktop also reads its sandbox, a worker with a WebAssembly
 *   file, and what that imports. Deno reads all other modules without a permission.
 * - `--allow-env`: our own variables, those that name a proxy, and those that libraries look at when they are loaded: ws
 *   WS_NO_*, thread-stream (of pino) NODE_V8_COVERAGE, colorette (of pino-pretty) the rest.
 * - `--allow-sys`: pino asks for `hostname` when it is loaded; it is in no line of our log. The desktop looks at
 *   `networkInterfaces` to see that it is in another network.
 *
 * `--allow-env` without a list comes in place of the relay's for logins: a library of the authorization server lists all
 * variables. `--allow-run=PROGRAM` comes on top when the desktop is started with `--agent-command PROGRAM`.
 */
import { join } from 'node:path';

export interface DenoPlaces {
  /** The data folder, absolute. */
  readonly data: string;
  /** The relay's address as `host:port`. */
  readonly address: string;
  /** The folder of Graph Relay itself, absolute. */
  readonly program: string;
}

const LIBRARY_VARIABLES = [
  'WS_NO_BUFFER_UTIL',
  'WS_NO_UTF_8_VALIDATE',
  'NODE_V8_COVERAGE',
  'TERM',
  'CI',
  'GITHUB_ACTIONS',
  'GITLAB_CI',
  'CIRCLECI',
];
const SERVER_VARIABLES = ['GRAPH_RELAY_*', ...LIBRARY_VARIABLES];
const PROXY_VARIABLES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'no_proxy', 'NO_PROXY'];
const DESKTOP_VARIABLES = [...PROXY_VARIABLES, ...SERVER_VARIABLES];

export function denoServerFlags({ data, address }: DenoPlaces): string[] {
  return [
    '--no-prompt',
    `--allow-net=${address},unix:${join(data, 'server', 'control.sock')}`,
    `--allow-read=${data}`,
    `--allow-write=${data}`,
    `--allow-env=${SERVER_VARIABLES.join(',')}`,
    '--allow-sys=hostname',
  ];
}

export function denoDesktopFlags({ data, address, program }: DenoPlaces): string[] {
  return [
    '--no-prompt',
    `--allow-net=${address},unix:${join(data, 'desktop', 'control.sock')}`,
    `--allow-read=${[data, ...sandboxFiles(program)].join(',')}`,
    `--allow-write=${data}`,
    `--allow-env=${DESKTOP_VARIABLES.join(',')}`,
    '--allow-sys=hostname,networkInterfaces',
  ];
}

function sandboxFiles(program: string): string[] {
  return ['desktop-agent/engine', 'protocol', 'node_modules/quickjs-wasi'].map((path) => join(program, path));
}
