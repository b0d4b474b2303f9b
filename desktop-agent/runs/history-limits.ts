/**
 * What the history of runs may take, on disk and in memory: each number with its unit, why it is this one, and what
 * breaks when it is changed.
 *
 * Owns the history's numbers only; the contract's are in `protocol/limits.ts`, those of a run in `engine-limits.ts`.
 */

export interface HistoryLimits {
  /**
   * Length of one text of a record (a prompt, an answer, a tool's output as JSON). What is longer is cut and marked.
   * Larger: writing one down holds up the desktop (1 Mi characters take some 20 ms). Smaller: more runs that a replay
   * cannot answer whole.
   */
  readonly textChars: number;
  /**
   * The events of one run. Beyond it, texts are cut to {@link briefChars}. Larger: fewer runs fit. Smaller: long runs
   * cannot be replayed.
   */
  readonly recordBytes: number;
  /** Length of a text once a record is full: enough to see in a timeline what it was about. */
  readonly briefChars: number;
  /** Room for such short events; after it they are only counted. Larger: a loop fills the disk. */
  readonly reserveBytes: number;
  /** Records that are kept; the oldest go first. More: lists of names to look through grow. */
  readonly runsKept: number;
  /** All records and results together; the oldest go first, but never the latest. Larger: the owner's disk fills. */
  readonly totalBytes: number;
  /**
   * What waits for a disk that is slow or full, of all runs together. Larger: memory. Smaller: lines are lost in shorter
   * stalls, which the record then says.
   */
  readonly waitingBytes: number;
  /** Events are written together after this long. Longer: a kill loses more of the last moments. Shorter: more writes. */
  readonly flushMs: number;
  /** A disk that refused is tried again after this long. Shorter: a full disk costs work. */
  readonly retryMs: number;
  /** Events that are kept in memory for those who look on, of one run and of all runs together. Larger: memory. */
  readonly liveEvents: number;
  /** The same in characters. */
  readonly liveChars: number;
  /** Length of one text for those who look on; the record has it whole. */
  readonly liveTextChars: number;
  /** Runs whose events stay in memory after their end, for a reader that is between two calls. */
  readonly endedChannels: number;
  /** Events in one answer to a reader; the next call brings the next ones. Larger: one answer holds up the desktop. */
  readonly answerEvents: number;
  /** Readers that wait at once. More is a loop somewhere. */
  readonly heldReaders: number;
}

export const DEFAULT_HISTORY_LIMITS: HistoryLimits = {
  textChars: 1024 * 1024,
  recordBytes: 16 * 1024 * 1024,
  briefChars: 500,
  reserveBytes: 2 * 1024 * 1024,
  runsKept: 1_000,
  totalBytes: 512 * 1024 * 1024,
  waitingBytes: 8 * 1024 * 1024,
  flushMs: 20,
  retryMs: 5_000,
  liveEvents: 2_000,
  liveChars: 4 * 1024 * 1024,
  liveTextChars: 4_000,
  endedChannels: 16,
  answerEvents: 500,
  heldReaders: 64,
};
