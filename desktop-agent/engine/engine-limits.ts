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
  /**
   * Wall time of a run, agents and called Graphs included. It stands still while an approval is open and nothing else
   * of the run goes on: the owner may decide hours later. Larger: a hanging provider holds the desktop's only worker longer.
   */
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
  /** Length of the JSON text of one answer's schema. Providers send it with each prompt. */
  readonly answerSchemaChars: number;
  /** Texts of one Graph that wait for answers, together. They are kept outside the Graph's own memory limit. */
  readonly waitingChars: number;
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
  /** Calls of `tool` in one run, refused ones included. More is a loop somewhere. */
  readonly toolCallsPerRun: number;
  /** Tools that work at the same time; those that wait for the owner do not count. Larger: floods of a local server. */
  readonly toolsAtOnce: number;
  /** Length of the JSON text of one tool's input. An approval shows it to the owner. */
  readonly toolInputChars: number;
  /** Length of the JSON text of what one tool gives. */
  readonly toolOutputChars: number;
  /** Calls of `graph` in one run, refused ones included. Each costs a worker. */
  readonly graphCallsPerRun: number;
  /** Graphs that are called and run at the same time, at each depth. Larger: each needs some 20 MB and its own memory. */
  readonly graphsAtOnce: number;
  /** Graphs that call each other, the outermost included. Larger: runs that nobody can follow. */
  readonly graphDepth: number;
  /** Length of the JSON text of the arguments of one call of `graph`. */
  readonly graphArgsChars: number;
  /** Attempts of one `retry`, whatever the Graph says. */
  readonly retryAttempts: number;
  /** One wait of `retry`, however often it was doubled. */
  readonly retryWaitMs: number;
  /** Waits of `retry` in one run. More is a loop around a `retry`. */
  readonly retriesPerRun: number;
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
  answerSchemaChars: 16_000,
  waitingChars: 16 * 1024 * 1024,
  answerChars: 4 * 1024 * 1024,
  logEvents: 1_000,
  logChars: 2_000,
  agentsPerRun: 1_000,
  defaultConcurrency: 4,
  maxConcurrency: 16,
  toolCallsPerRun: 1_000,
  toolsAtOnce: 8,
  toolInputChars: 256 * 1024,
  toolOutputChars: 4 * 1024 * 1024,
  graphCallsPerRun: 100,
  graphsAtOnce: 4,
  graphDepth: 3,
  graphArgsChars: 1024 * 1024,
  retryAttempts: 5,
  retryWaitMs: 60_000,
  retriesPerRun: 1_000,
  totalTokens: null,
};
