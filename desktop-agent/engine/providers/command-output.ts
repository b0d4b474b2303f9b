/**
 * What a program's output says: plain text, or the JSON of a program that reports its tokens.
 *
 * Owns the two formats, as far as they are used:
 *
 * - `claude-json`, of `claude -p --output-format json`, is one object:
 *   `{"type":"result","subtype":"success","is_error":false,"result":"ready","total_cost_usd":0.0079,
 *   "usage":{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":15635,"output_tokens":6}}`
 *   (with `--verbose` an array, whose last object this is). A failure has `is_error: true` and its reason in `result`, or
 *   only a `subtype` such as `error_max_turns`. The three kinds of input do not overlap.
 * - `codex-json`, of `codex exec --json`, is one object a line. Those that count:
 *   `{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"ready"}}`
 *   `{"type":"turn.completed","usage":{"input_tokens":14268,"cached_input_tokens":4480,"output_tokens":5}}`
 *   `{"type":"turn.failed","error":{"message":"…"}}` and `{"type":"error","message":"…"}`
 *   The last message is the answer; cached input is part of the input.
 *
 * Other fields and lines may come and go with the versions of those programs, and are not looked at.
 */
import { z } from 'zod';
import type { TokenFigures } from './prices.ts';

export const COMMAND_OUTPUTS = ['text', 'claude-json', 'codex-json'] as const;
export type CommandOutput = (typeof COMMAND_OUTPUTS)[number];

export interface OutputReading {
  /** Null when there is no answer. */
  readonly text: string | null;
  /** What went wrong, in the program's words; beside an answer, it got over it. Null when it said nothing. */
  readonly failure: string | null;
  /** Null when the program said nothing about tokens. */
  readonly figures: TokenFigures | null;
  /** US dollars, when the program says so. */
  readonly costUsd?: number | undefined;
}

const tokens = z.number().min(0).catch(0).default(0);

const claudeResult = z.object({
  type: z.literal('result'),
  subtype: z.string().optional(),
  is_error: z.boolean().optional(),
  result: z.string().optional(),
  total_cost_usd: z.number().min(0).optional().catch(undefined),
  usage: z
    .object({
      input_tokens: tokens,
      cache_creation_input_tokens: tokens,
      cache_read_input_tokens: tokens,
      output_tokens: tokens,
    })
    .optional()
    .catch(undefined),
});

const codexLine = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('item.completed'),
    item: z.object({ type: z.string(), text: z.string().optional() }),
  }),
  z.object({
    type: z.literal('turn.completed'),
    usage: z.object({ input_tokens: tokens, cached_input_tokens: tokens, output_tokens: tokens }),
  }),
  z.object({ type: z.literal('turn.failed'), error: z.object({ message: z.string() }) }),
  z.object({ type: z.literal('error'), message: z.string() }),
]);

const NOTHING: OutputReading = { text: null, failure: null, figures: null };

/** Never throws: what cannot be read has no answer. */
export function readOutput(output: CommandOutput, stdout: string): OutputReading {
  if (output === 'claude-json') return readClaude(stdout);
  if (output === 'codex-json') return readCodex(stdout);
  // The last line break is no part of the answer.
  return { ...NOTHING, text: stdout.replace(/\r?\n$/, '') };
}

function readClaude(stdout: string): OutputReading {
  const said = parsed(stdout);
  const found = claudeResult.safeParse(Array.isArray(said) ? said.at(-1) : said);
  if (!found.success) return NOTHING;
  const { subtype, is_error, result, total_cost_usd: costUsd, usage } = found.data;
  const cachedInput = usage?.cache_read_input_tokens ?? 0;
  const figures = usage && {
    input: usage.input_tokens + usage.cache_creation_input_tokens + cachedInput,
    cachedInput,
    output: usage.output_tokens,
  };
  const paid = { figures: figures ?? null, costUsd };
  if (is_error || result === undefined) return { text: null, failure: result ?? subtype ?? null, ...paid };
  return { text: result, failure: null, ...paid };
}

function readCodex(stdout: string): OutputReading {
  let text: string | null = null;
  let failure: string | null = null;
  let figures: Required<TokenFigures> | null = null;
  for (const line of stdout.split('\n')) {
    const found = codexLine.safeParse(parsed(line));
    if (!found.success) continue;
    const event = found.data;
    if (event.type === 'item.completed') {
      if (event.item.type === 'agent_message') text = event.item.text ?? text;
    } else if (event.type === 'turn.completed') {
      const { input_tokens: input, cached_input_tokens: cached, output_tokens: output } = event.usage;
      const before: Required<TokenFigures> = figures ?? { input: 0, cachedInput: 0, output: 0 };
      figures = {
        input: before.input + input,
        cachedInput: (before.cachedInput ?? 0) + cached,
        output: before.output + output,
      };
    } else if (event.type === 'turn.failed') {
      failure = event.error.message;
      text = null;
    } else failure = event.message;
  }
  return { text, failure, figures };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
