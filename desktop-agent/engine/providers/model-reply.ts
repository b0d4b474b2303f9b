/**
 * What a model's answer is worth: its text, its tokens, its cost; or why it is none.
 *
 * Owns the reading of the SDK's result. Tokens are the service's own figures (input with what was cached, output with
 * what was reasoned); what it does not say is estimated. A cost is never computed from an estimate.
 */
import type { LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import { cleanText } from '../../../protocol/text.ts';
import { AgentFailure, type AgentReply, estimateTokens } from '../agent-provider.ts';
import { costOf, type Prices } from './prices.ts';

const SHOWN_CHARS = 300;

export interface ReplyParts {
  readonly prompt: string;
  readonly prices?: Prices | undefined;
}

/** Throws an {@link AgentFailure} when there is no answer that can be used. */
export function readReply(result: LanguageModelV4GenerateResult, parts: ReplyParts): AgentReply {
  const text = result.structuredOutputText ?? textOf(result, 'text');
  const paid = whatWasPaid(result, text, parts);
  const problem = problemOf(result, text);
  if (problem !== null) throw new AgentFailure(problem, paid);
  return { text, ...paid };
}

function textOf({ content }: LanguageModelV4GenerateResult, type: 'text' | 'reasoning'): string {
  return content.flatMap((part) => (part.type === type ? [part.text] : [])).join('');
}

function problemOf(result: LanguageModelV4GenerateResult, text: string): string | null {
  const { unified, raw } = result.finishReason;
  const output = result.usage.outputTokens.total;
  if (unified === 'content-filter') {
    const said = cleanText(text.trim(), SHOWN_CHARS);
    return `declined to answer (${raw ?? 'content filter'})${said === '' ? '' : `: ${said}`}`;
  }
  // Half an answer looks like a whole one to a Graph.
  if (unified === 'length') {
    const where = output ? ` after ${output} tokens` : '';
    return `was cut off${where}: the answer is longer than allowed. Raise max_output_tokens in agents.json, or ask for less`;
  }
  if (text.trim() !== '') return null;
  const why = textOf(result, 'reasoning') === '' ? '' : ', though it reasoned';
  return `gave an empty answer${why} (it ended with: ${raw ?? unified})`;
}

function whatWasPaid(result: LanguageModelV4GenerateResult, text: string, parts: ReplyParts): Omit<AgentReply, 'text'> {
  const { inputTokens, outputTokens, raw } = result.usage;
  // Servers that count nothing say nothing, or zero.
  const input = inputTokens.total || null;
  const output = outputTokens.total || null;
  const tokens = (input ?? estimateTokens(parts.prompt, '')) + (output ?? estimateTokens('', text));
  // OpenRouter and others say what they charge, in US dollars.
  const said = typeof raw?.cost === 'number' && raw.cost >= 0 ? raw.cost : undefined;
  if (parts.prices === undefined || input === null) return said === undefined ? { tokens } : { tokens, costUsd: said };
  const figures = { input, cachedInput: inputTokens.cacheRead, output: output ?? 0 };
  return { tokens, costUsd: costOf(parts.prices, figures) };
}
