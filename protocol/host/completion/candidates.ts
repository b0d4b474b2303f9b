/**
 * What may come next on a command line that is being typed: read off the tree of commands.
 *
 * Owns the reading. Names that only the machine knows (such as those of Graphs) come from sources, which are asked by
 * the name of the argument, of the option, or of what the option takes.
 */
import type { Argument, Command, Option } from 'commander';

export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** The options that stand on the line, by their names in code. */
export type GivenOptions = Readonly<Record<string, string>>;
export type Sources = Readonly<Record<string, (given: GivenOptions) => Promise<readonly Candidate[]>>>;

/** `files`: the shell completes the name of a file. */
export type Completion =
  | { readonly files: true }
  | { readonly files: false; readonly candidates: readonly Candidate[] };

const FILES: Completion = { files: true };

/** Names of arguments and of what options take that stand for files. */
const PATHS = new Set(['file', 'folder']);

/** Where the reading has got to. */
interface Reading {
  command: Command;
  /** Arguments of the command so far. */
  operands: number;
  /** An option that waits for its value. */
  pending: Option | null;
  /** After `--` nothing is an option. */
  optionsOver: boolean;
  readonly given: Record<string, string>;
}

/** `words` are those after the program's name; the last one is being typed, and may be empty. */
export async function completionOf(root: Command, words: readonly string[], sources: Sources): Promise<Completion> {
  const reading: Reading = { command: root, operands: 0, pending: null, optionsOver: false, given: {} };
  for (const word of words.slice(0, -1)) readWord(reading, word);
  const typed = words.at(-1) ?? '';
  // bash takes `--option=value` for three words.
  const start = typed === '=' && reading.pending !== null ? '' : typed;
  const found = await nextOf(reading, start, sources);
  if (found.files) return found;
  const candidates = found.candidates.filter(({ word }) => word.startsWith(start));
  return { files: false, candidates };
}

function readWord(reading: Reading, word: string): void {
  if (reading.pending !== null) {
    if (word === '=') return;
    reading.given[reading.pending.attributeName()] = word;
    reading.pending = null;
  } else if (word === '--' && !reading.optionsOver) {
    reading.optionsOver = true;
  } else if (word.startsWith('-') && !reading.optionsOver) {
    readOption(reading, word);
  } else {
    readOperand(reading, word);
  }
}

function readOption(reading: Reading, word: string): void {
  const [flag = '', ...value] = word.split('=');
  const option = optionsOf(reading.command).find(({ short, long }) => flag === short || flag === long);
  if (option === undefined || option.isBoolean()) return;
  if (value.length > 0) reading.given[option.attributeName()] = value.join('=');
  else reading.pending = option;
}

function readOperand(reading: Reading, word: string): void {
  const { command } = reading;
  const below = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
  if (reading.operands === 0 && below !== undefined) reading.command = below;
  else reading.operands += 1;
}

function nextOf(reading: Reading, start: string, sources: Sources): Promise<Completion> {
  const { command, pending, optionsOver, given } = reading;
  if (pending !== null) return valuesOf(pending, given, sources);
  if (start.startsWith('-') && !optionsOver) return afterDash(reading, start, sources);
  const commands = reading.operands === 0 ? command.createHelp().visibleCommands(command) : [];
  const named = commands.map((each) => ({ word: each.name(), about: each.description() }));
  const args = command.registeredArguments;
  const argument = args[reading.operands] ?? (args.at(-1)?.variadic ? args.at(-1) : undefined);
  return named.length > 0 || argument === undefined ? only(named) : namesFor(argument, given, { sources, start });
}

async function afterDash(reading: Reading, start: string, sources: Sources): Promise<Completion> {
  const [flag = '', value] = start.split('=');
  const options = optionsOf(reading.command);
  const option = value === undefined ? undefined : options.find(({ long }) => long === flag);
  if (option === undefined) {
    const left = options.filter((each) => !(each.attributeName() in reading.given));
    return only(left.map(({ long, short, description }) => ({ word: long ?? short ?? '', about: description })));
  }
  const values = await valuesOf(option, reading.given, sources);
  if (values.files) return values;
  return only(values.candidates.map(({ word, about }) => ({ word: `${flag}=${word}`, about })));
}

/** Its own, and those of the commands above: commander takes them anywhere. */
function optionsOf(command: Command): Option[] {
  const own = [...command.createHelp().visibleOptions(command)];
  for (let above = command.parent; above?.parent; above = above.parent) {
    own.push(...above.options.filter((option) => !option.hidden && !own.some(({ long }) => long === option.long)));
  }
  return own;
}

function valuesOf(option: Option, given: GivenOptions, sources: Sources): Promise<Completion> {
  if (option.argChoices) return only(option.argChoices.map((word) => ({ word, about: '' })));
  const taken = /[<[]([\w-]+)/.exec(option.flags)?.[1] ?? '';
  if (PATHS.has(taken)) return Promise.resolve(FILES);
  const source = sources[option.attributeName()] ?? sources[taken];
  return source === undefined ? only([]) : source(given).then(only);
}

async function namesFor(
  argument: Argument,
  given: GivenOptions,
  { sources, start }: { sources: Sources; start: string },
): Promise<Completion> {
  if (argument.argChoices) return only(argument.argChoices.map((word) => ({ word, about: '' })));
  const source = sources[argument.name()];
  if (source === undefined) return PATHS.has(argument.name()) ? FILES : only([]);
  const names = await source(given);
  // What may be named may also be a path.
  return names.some(({ word }) => word.startsWith(start)) ? only(names) : FILES;
}

async function only(candidates: readonly Candidate[]): Promise<Completion> {
  return { files: false, candidates };
}
