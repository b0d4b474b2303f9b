/**
 * What one run may take: each number with its unit, why it is this one, and what breaks when it is changed.
 *
 * Owns the engine's numbers only; the contract's are in `protocol/limits.ts`. A Graph's `meta.limits` may lower what
 * the owner allows, never raise it.
 */
import { JSON_DEPTH } from '../../protocol/limits.ts';

export interface EngineLimits {
  /** Memory of one Graph. Larger: one hostile Graph swaps the desktop. Smaller: large answers do not fit. */
  readonly memoryBytes: number;
  /** Native stack of the interpreter, at most 512 KiB. Larger: needs a larger thread stack, see `sandbox.ts`. */
  readonly stackBytes: number;
  /** Computing between two waits, in CPU time. Larger: a loop burns a core longer. Smaller: sorting large lists fails. */
  readonly cpuSliceMs: number;
  /**
   * A worker that says nothing for twice the CPU slice and this margin is ended from outside: it is inside a built-in
   * that cannot be interrupted. Smaller: a loaded machine ends honest Graphs.
   */
  readonly stuckMarginMs: number;
  /** Wall time of a run, agents included. Larger: a hanging provider holds the desktop's only worker longer. */
  readonly wallMs: number;
  /** Length of a Graph file. It is parsed on the host thread, which takes up to a millisecond for some thousand characters. */
  readonly sourceChars: number;
  /**
   * Length of a result's JSON text. The relay takes 100,000 characters; what is larger stays on the desktop. Larger: the
   * copy to the host thread becomes noticeable (16 Mi characters take some 10 ms).
   */
  readonly resultChars: number;
  /** Nesting of a result; deeper ones are refused by the relay anyway. */
  readonly resultDepth: number;
  /** Length of one prompt. */
  readonly promptChars: number;
  /** Prompts that wait for their answers, together. They are kept outside the Graph's own memory limit. */
  readonly waitingPromptChars: number;
  /** Length of one answer. */
  readonly answerChars: number;
  /** Log lines and phases that a run may show; the rest is dropped, with one line that says so. */
  readonly logEvents: number;
  /** Length of a log line or a phase's title. */
  readonly logChars: number;
  /** Calls of `agent` in one run, refused ones included. More is a loop somewhere. */
  readonly agentsPerRun: number;
  /** Agents at the same time, when the Graph does not say. */
  readonly defaultConcurrency: number;
  /** Agents at the same time, whatever the Graph says. */
  readonly maxConcurrency: number;
  /** Tokens of one run, whatever the Graph says; null for no ceiling of the owner's. */
  readonly totalTokens: number | null;
}

export const DEFAULT_ENGINE_LIMITS: EngineLimits = {
  memoryBytes: 64 * 1024 * 1024,
  stackBytes: 256 * 1024,
  cpuSliceMs: 10_000,
  stuckMarginMs: 5_000,
  wallMs: 3_600_000,
  sourceChars: 256 * 1024,
  resultChars: 16 * 1024 * 1024,
  resultDepth: JSON_DEPTH,
  promptChars: 1024 * 1024,
  waitingPromptChars: 16 * 1024 * 1024,
  answerChars: 4 * 1024 * 1024,
  logEvents: 1_000,
  logChars: 2_000,
  agentsPerRun: 1_000,
  defaultConcurrency: 4,
  maxConcurrency: 16,
  totalTokens: null,
};
