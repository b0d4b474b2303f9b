/** `graph-relay completion`: the script for a shell, and the hidden command that the script calls. */
import { Argument, type Command } from 'commander';
import { print } from '../terminal.ts';
import { completionOf, type Sources } from './candidates.ts';
import { answerFor, SCRIPTS, SHELLS, type Shell, WORDS_COMMAND } from './scripts.ts';

export function addCompletionCommands(program: Command, sources: Sources): Command {
  program
    .command('completion')
    .description('print the script that completes commands, options and names in your shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(SHELLS))
    .addHelpText(
      'after',
      `
Examples:
  source <(graph-relay completion bash)         in ~/.bashrc
  source <(graph-relay completion zsh)          in ~/.zshrc, behind compinit
  graph-relay completion fish | source          in ~/.config/fish/config.fish
`,
    )
    .action((shell: Shell) => void process.stdout.write(SCRIPTS[shell]));
  program
    .command(WORDS_COMMAND, { hidden: true })
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .argument('[word...]')
    .action(async (shell: Shell, words: string[]) => {
      for (const line of answerFor(shell, await completionOf(program, words, sources))) print(line);
    });
  return program;
}
