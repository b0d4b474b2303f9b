/**
 * The clients of others that are tried against this relay: what each is, how it logs in, and what its test sees.
 *
 * Owns the README's table, which a test compares. Must not claim what no test asserts: a word here and a test go together.
 */
import { readFileSync } from 'node:fs';

export interface TriedClient {
  readonly name: string;
  readonly package: string;
  /** How it gets in. */
  readonly login: string;
  readonly seen: string;
  /** The test file that sees it. */
  readonly test: string;
}

const USES = 'lists the tools and sessions, runs a Graph, reads its result';

export const TRIED = {
  inspector: {
    name: 'MCP Inspector, command line',
    package: '@modelcontextprotocol/inspector',
    login: 'OAuth at `…/mcp`; token',
    seen: `${USES}, in both eras of the protocol`,
    test: 'inspector.test.ts',
  },
  mcporter: {
    name: 'mcporter',
    package: 'mcporter',
    login: 'OAuth at `…/mcp?auth=required`; token',
    seen: `${USES}; at \`…/mcp\` it never offers a login`,
    test: 'mcporter.test.ts',
  },
  mcpRemote: {
    name: 'mcp-remote, between a client that only knows stdio and the relay',
    package: 'mcp-remote',
    login: 'OAuth at `…/mcp`, at the first tool call; token',
    seen: USES,
    test: 'mcp-remote.test.ts',
  },
  mcpc: {
    name: 'Apify mcpc',
    package: '@apify/mcpc',
    login: 'OAuth at `…/mcp`; token',
    seen: USES,
    test: 'mcpc.test.ts',
  },
  claudeCode: {
    name: 'Claude Code',
    package: '@anthropic-ai/claude-code',
    login: 'OAuth at `…/mcp?auth=required` (`claude mcp login`); token',
    seen: '`claude mcp list` says `Needs authentication` before the login and `Connected` after it; no tool is called, since that takes an account',
    test: 'claude-code.test.ts',
  },
  conformance: {
    name: 'MCP conformance suite',
    package: '@modelcontextprotocol/conformance',
    login: 'OAuth; token',
    seen: 'the scenarios that apply pass, for servers in three versions of the protocol, for the Tasks extension and for authorization; `tests/clients/conformance-scope.ts` has the others with their reasons',
    test: 'conformance.test.ts',
  },
} as const satisfies Record<string, TriedClient>;

/** The version that the lock file pins. */
export function versionOf(packageName: string): string {
  const lock = JSON.parse(readFileSync(new URL('package-lock.json', import.meta.url), 'utf8')) as {
    packages: Record<string, { version: string }>;
  };
  return lock.packages[`node_modules/${packageName}`]!.version;
}

/** The table as the README has it. */
export function triedTable(): string {
  const rows = Object.values(TRIED).map((client) =>
    [client.name, versionOf(client.package), client.login, client.seen].join(' | '),
  );
  return ['client | version | login | what was seen', '--- | --- | --- | ---', ...rows]
    .map((row) => `| ${row} |`)
    .join('\n');
}
