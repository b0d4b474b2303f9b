/**
 * What all commands of ours do alike: exit codes for what was not understood, a hint at `--help`, a suggestion for a
 * word that is nearly a command, colours in the help.
 *
 * Owns the conventions; knows no command.
 */
import { styleText } from 'node:util';
import { Command } from 'commander';
import { EXIT_CODES } from './exit-codes.ts';
import { painted } from './terminal.ts';

/** For the whole tree, when it is complete: commander hands settings down only to what is added later. */
export function applyConventions(command: Command): Command {
  command
    .exitOverride((error) => {
      process.exitCode = error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
      throw error;
    })
    .showHelpAfterError(`"${fullName(command)} --help" says more.`)
    // commander takes the colours out where they are not wanted.
    .configureHelp({
      styleTitle: (text) => styleText('bold', text, { validateStream: false }),
      styleSubcommandTerm: (text) => styleText('cyan', text, { validateStream: false }),
      styleOptionTerm: (text) => styleText('cyan', text, { validateStream: false }),
    })
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error:/, painted('red', 'error:', process.stderr))),
    });
  if (command.commands.length > 0 && command.registeredArguments.length === 0) refuseUnknownCommands(command);
  for (const each of command.commands) applyConventions(each);
  return command;
}

function fullName(command: Command): string {
  const names: string[] = [];
  for (let each: Command | null = command; each !== null; each = each.parent) names.unshift(each.name());
  return names.join(' ');
}

/**
 * A command that also does something by itself takes a word that it does not know for an argument, and would suggest
 * nothing. One with the same commands and nothing to do says what commander says to others.
 */
function refuseUnknownCommands(command: Command): void {
  command.allowExcessArguments().hook('preAction', (owner, acting) => {
    if (owner !== acting || acting.args.length === 0) return;
    const words = new Command(fullName(command));
    for (const each of command.createHelp().visibleCommands(command))
      words.command(each.name()).aliases(each.aliases());
    applyConventions(words).parse(acting.args, { from: 'user' });
  });
}
