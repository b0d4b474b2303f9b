#!/usr/bin/env node
/**
 * The `graph-relay` command: finds the part that was asked for, and turns errors into messages and exit codes.
 *
 * Compiled code is cached between starts where the runtime can: a start is a fifth quicker then.
 */
import * as nodeModule from 'node:module';
import { Command } from 'commander';
import { benchCommand } from './bench/cli.ts';
import { startCommand } from './bench/start/cli.ts';
import { desktopCommand, doctorCommand } from './desktop-agent/cli.ts';
import manifest from './package.json' with { type: 'json' };
import { RelayError } from './protocol/errors.ts';
import { EXIT_CODES, ExitError } from './protocol/host/exit-codes.ts';
import { ownerCommand, serverCommand, tokenCommand } from './server/cli.ts';

nodeModule.enableCompileCache?.();

// Whoever reads has seen enough (`… | head`). What is not read is not missed; a relay or desktop goes on.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const program = new Command('graph-relay')
  .description(manifest.description)
  .version(manifest.version)
  .addCommand(startCommand())
  .addCommand(serverCommand())
  .addCommand(tokenCommand())
  .addCommand(ownerCommand())
  .addCommand(desktopCommand())
  .addCommand(doctorCommand())
  .addCommand(benchCommand());
endWithOurCodes(program);

/** commander's override does not reach commands that were added as they are. */
function endWithOurCodes(command: Command): void {
  command.exitOverride((error) => {
    process.exitCode = error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
    throw error;
  });
  for (const each of command.commands) endWithOurCodes(each);
}

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof ExitError) {
    process.stderr.write(`graph-relay: ${error.message}\n`);
    process.exitCode = EXIT_CODES[error.exit];
  } else if (error instanceof RelayError) {
    process.stderr.write(`graph-relay: ${error.message} [${error.code}]\n`);
    process.exitCode = EXIT_CODES.failure;
  } else if (process.exitCode === undefined) {
    process.stderr.write(`graph-relay: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = EXIT_CODES.failure;
  }
}
