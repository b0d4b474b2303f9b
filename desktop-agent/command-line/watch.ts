/** The words of `graph-relay desktop watch`. */
import type { Command } from 'commander';
import { jsonOption } from './options.ts';

export function addWatchCommand(desktop: Command): void {
  desktop
    .command('watch')
    .description('see what the desktop does while it does it: the connection, runs, agents, tokens, approvals')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
Keys: a allows what is chosen once, A for the rest of its run, d denies it,
c twice cancels its run, arrows (or j and k) choose, q quits.

It waits for a desktop that does not run. Where standard output is no terminal,
and with --json, it does what "graph-relay desktop events" does.
`,
    )
    .action(async (_options, command: Command) =>
      (await import('./actions/watch.ts')).watch(command.optsWithGlobals()),
    );
}
