/**
 * A provider that asks a local program: the prompt goes to its standard input, its standard output is the answer.
 *
 * Owns the command line of one call and the meaning of its end; the program's life is in `local-program.ts`. Where the
 * program does not say how many tokens it used, the count is an estimate (four characters a token, prompt and answer).
 */
import type { Clock } from '../../../protocol/ports.ts';
import { cleanText } from '../../../protocol/text.ts';
import {
  AgentFailure,
  type AgentProvider,
  type AgentReply,
  type AgentRequest,
  estimateTokens,
} from '../agent-provider.ts';
import { type CommandOutput, type OutputReading, readOutput } from './command-output.ts';
import { type ProgramEnd, programName, runProgram } from './local-program.ts';
import { costOf, type Prices } from './prices.ts';

export interface CommandProviderOptions {
  /** The program and its arguments. {@link MODEL_PLACE} in an argument is where the model goes. */
  readonly command: readonly string[];
  /** An answer that takes longer is a failure. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** The model when a Graph asks for none. Without a place for it in the command, models are ignored. */
  readonly model?: string | undefined;
  /** Default: text. */
  readonly output?: CommandOutput | undefined;
  /** Used when the program says its tokens and not what they cost. */
  readonly prices?: Prices | undefined;
  /** The whole environment of the program. Default: that of this process, but for what lets it in at the relay. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default 1 MiB; four times as much where the answer comes in JSON. */
  readonly maxAnswerBytes?: number;
}

export const MODEL_PLACE = '{model}';

const DEFAULT_MAX_ANSWER_BYTES = 1024 * 1024;
/** JSON escapes, and the events around the answer. */
const JSON_FACTOR = 4;
const SAID_CHARS = 1_000;

export function createCommandProvider(options: CommandProviderOptions): AgentProvider {
  const [program = ''] = options.command;
  if (program === '') throw new TypeError('a command provider needs a program to run');
  return { ask: (request) => ask(options, request) };
}

async function ask(options: CommandProviderOptions, { prompt, signal, model }: AgentRequest): Promise<AgentReply> {
  const { output = 'text', timeoutMs, clock, env } = options;
  const command = options.command.map((part) => part.replaceAll(MODEL_PLACE, model ?? options.model ?? ''));
  const maxBytes = options.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES;
  const maxOutputBytes = output === 'text' ? maxBytes : maxBytes * JSON_FACTOR;
  const end = await runProgram({ command, input: prompt, signal, timeoutMs, maxOutputBytes, clock, env });
  const reading = readOutput(output, end.stdout);
  const paid = whatWasPaid(options, reading, prompt);
  if (end.failure === null && reading.text !== null) return { text: reading.text, ...paid };
  const said = whatItSaid(end, reading, output);
  const how = end.failure ?? (reading.failure === null ? `wrote no answer as ${output}` : 'gave no answer');
  const message = `${programName(command)} ${how}${said === '' ? '' : `: ${said}`}`;
  if (reading.figures === null) throw new Error(message);
  throw new AgentFailure(message, paid);
}

function whatWasPaid(
  options: CommandProviderOptions,
  reading: OutputReading,
  prompt: string,
): Omit<AgentReply, 'text'> {
  const { figures, text } = reading;
  if (figures === null) return { tokens: estimateTokens(prompt, text ?? '') };
  const tokens = figures.input + figures.output;
  const costUsd = reading.costUsd ?? (options.prices && costOf(options.prices, figures));
  return costUsd === undefined ? { tokens } : { tokens, costUsd };
}

/** Why it failed, in its own words: what it says in its format, its standard error, or else the end of its output. */
function whatItSaid(end: ProgramEnd, reading: OutputReading, output: CommandOutput): string {
  const rest = output === 'text' ? end.stdout.trim() : '';
  const said = reading.failure ?? (end.stderr || cleanText(rest.slice(-SAID_CHARS), SAID_CHARS));
  return said.slice(-SAID_CHARS).toWellFormed();
}
