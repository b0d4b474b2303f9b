/**
 * Deno, where there is one. It is no dependency of the project: it is taken from the variable DENO or from PATH.
 *
 * Owns the rule for tests that need it: without it they are skipped, except where CI is set; there they fail.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export const DENO = process.env.DENO || 'deno';

/** What `deno --version` says; null when there is no Deno. */
export const denoVersion: string | null = await promisify(execFile)(DENO, ['--version']).then(
  ({ stdout }) => stdout.split('\n')[0] ?? '',
  () => null,
);

/** The `skip` of a test that needs Deno. */
export const skipWithoutDeno: string | false =
  denoVersion === null && !process.env.CI ? 'there is no Deno: set DENO to its program, or put it into PATH' : false;
