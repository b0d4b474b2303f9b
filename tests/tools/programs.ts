/**
 * Tool servers of others, from their own packages. They are no dependencies of the project: without them a test is
 * skipped, except where CI is set.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

const PACKAGES = fileURLToPath(new URL('node_modules/@modelcontextprotocol/', import.meta.url));
const INSTALL = 'npm ci --prefix tests/tools';

export type ServerPackage = 'server-filesystem' | 'server-everything';

/** Skips the test where the servers are not installed, except in CI. */
export function areInstalled(t: Test): boolean {
  if (existsSync(join(PACKAGES, 'server-filesystem')) && existsSync(join(PACKAGES, 'server-everything'))) return true;
  const reason = `the tool servers are not installed: ${INSTALL}`;
  if (process.env.CI) t.fail(reason);
  else t.pass('skipped', { skip: reason });
  return false;
}

/** The module that the package gives as its command. */
export function programOf(name: ServerPackage): string {
  const folder = join(PACKAGES, name);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { bin: Record<string, string> };
  return join(folder, Object.values(bin)[0]!);
}

/** An entry of `tools.json`. */
export function entryOf(name: ServerPackage, ...args: readonly string[]) {
  return { command: process.execPath, args: [programOf(name), ...args] };
}
