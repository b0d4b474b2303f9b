/**
 * What each shell needs to ask this program for the next word: a few lines, since the program knows the rest.
 *
 * Owns the scripts, and how answers are written for each shell. Nothing of the line that is typed is evaluated.
 */
import type { Completion } from './candidates.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The hidden command that the scripts call. */
export const WORDS_COMMAND = 'completion-words';

/** In place of candidates: the shell completes the name of a file. */
const FILES = ':files';

const BASH = `# In ~/.bashrc: source <(graph-relay completion bash)
_graph_relay() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(graph-relay ${WORDS_COMMAND} bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" </dev/null 2>/dev/null)
}
complete -o bashdefault -o default -F _graph_relay graph-relay
`;

const ZSH = `#compdef graph-relay
# In ~/.zshrc, behind compinit: source <(graph-relay completion zsh)
_graph_relay() {
  local -a found
  found=("\${(@f)$(graph-relay ${WORDS_COMMAND} zsh -- "\${(@Q)words[2,CURRENT]}" </dev/null 2>/dev/null)}")
  if [[ $found[1] == ${FILES} ]]; then
    _files
  elif [[ -n $found[1] ]]; then
    _describe -V graph-relay found
  fi
}
if [[ $funcstack[1] == _graph_relay ]]; then
  _graph_relay "$@"
else
  compdef _graph_relay graph-relay
fi
`;

const FISH = `# In ~/.config/fish/config.fish: graph-relay completion fish | source
function __graph_relay_words
  set -l before (commandline -opc)
  set -e before[1]
  set -l typed (commandline -ct)
  set -l found (graph-relay ${WORDS_COMMAND} fish -- $before "$typed" </dev/null 2>/dev/null)
  if test "$found[1]" = ${FILES}
    __fish_complete_path "$typed"
  else
    printf '%s\\n' $found
  end
end
complete -c graph-relay -e
complete -c graph-relay -k -f -a '(__graph_relay_words)'
`;

export const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

/** One candidate on each line. bash completes files by itself when there are none. */
export function answerFor(shell: Shell, completion: Completion): string[] {
  if (completion.files) return shell === 'bash' ? [] : [FILES];
  return completion.candidates.map(({ word, about }) => {
    const [line = ''] = about.split('\n');
    if (shell === 'bash') return word;
    if (shell === 'fish') return `${word}\t${line}`;
    return `${word.replaceAll('\\', '\\\\').replaceAll(':', '\\:')}:${line}`;
  });
}
