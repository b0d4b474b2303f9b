/**
 * What a model spends on a text, estimated.
 *
 * Tool calls and answers are JSON with UUIDs, hexadecimal ids and instants, which take more tokens than prose. Counted
 * once with the public tokenizer o200k_base: the answer of `get_graph_run` for a running run has 677 characters and 289
 * tokens, the input 71 and 40. A model's own tokenizer may differ by a fifth; the ratio between two modes or ways of
 * asking does not. What a model reads again with each call, its whole conversation, comes on top.
 */
const CHARS_PER_TOKEN = 2.3;

export function estimatedTokens(chars: number): number {
  return chars / CHARS_PER_TOKEN;
}
