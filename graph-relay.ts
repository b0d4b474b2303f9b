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
import { desktopNames } from './desktop-agent/command-line/names.ts';
import manifest from './package.json' with { type: 'json' };
import { RelayError } from './protocol/errors.ts';
import { applyConventions } from './protocol/host/command-conventions.ts';
import { addCompletionCommands } from './protocol/host/completion/command.ts';
import { EXIT_CODES, ExitError, heedFinalExits } from './protocol/host/exit-codes.ts';
import { note, painted } from './protocol/host/terminal.ts';
import { ownerCommand, serverCommand, tokenCommand } from './server/cli.ts';

nodeModule.enableCompileCache?.();
heedFinalExits();

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
addCompletionCommands(program, desktopNames);
applyConventions(program);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof ExitError) end(error.message, EXIT_CODES[error.exit]);
  else if (error instanceof RelayError) end(`${error.message} [${error.code}]`, EXIT_CODES.failure);
  // What the command line did not understand has been said.
  else if (process.exitCode === undefined) {
    end(error instanceof Error ? (error.stack ?? error.message) : String(error), EXIT_CODES.failure);
  }
}

function end(message: string, code: number): void {
  note(`${painted('red', 'graph-relay:', process.stderr)} ${message}`);
  process.exitCode = code;
}
