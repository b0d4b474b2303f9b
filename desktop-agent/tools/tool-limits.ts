/**
 * What tools and their servers may take: each number with its unit, why it is this one, and what breaks when it is changed.
 *
 * Owns the desktop's numbers about tools only. A call's own time can be set in `tools.json`.
 */

export interface ToolLimits {
  /** A server that has not said hello within this time is ended. `npx` may have to download it first. */
  readonly startMs: number;
  /**
   * A call without an answer or news of its progress is given up after this long; `timeout` of a server in `tools.json`.
   * Larger: a hung server holds a run longer. Smaller: honest work (a search, a build) is cut off.
   */
  readonly callSilenceMs: number;
  /** A call that tells its progress is given up after this long all the same. Half of a run's wall time. */
  readonly callMaxMs: number;
  /** After a call was given up the server has this long for a sign of life, or it is ended and started anew. */
  readonly signOfLifeMs: number;
  /** From the end of its input to SIGTERM, and from there to SIGKILL. A server that writes something down needs a moment. */
  readonly stopGraceMs: number;
  /**
   * One message of a server, in bytes. It is parsed on the desktop's own thread. Larger: the relay loop stands still for
   * longer than a tenth of a second. Smaller: pictures that a server sends along do not fit, though only their size is used.
   */
  readonly messageBytes: number;
  /** A tool's result as JSON text, in characters. It goes into the Graph's memory, the history, and maybe a model. */
  readonly resultChars: number;
  /** Tools of one server. Listed for people and looked up by name; more is a server that errs. */
  readonly toolsPerServer: number;
  /** A tool's description, in characters. */
  readonly descriptionChars: number;
  /** One line of what a server says on standard error, in characters. */
  readonly saidChars: number;
  /** Such lines a minute. What comes after that is counted. Larger: a server that floods fills the desktop's log. */
  readonly saidLines: number;
  /** Questions to the owner that are open, on the whole desktop. More than a screen of them is read by nobody. */
  readonly openApprovals: number;
}

export const DEFAULT_TOOL_LIMITS: ToolLimits = {
  startMs: 60_000,
  callSilenceMs: 120_000,
  callMaxMs: 30 * 60_000,
  signOfLifeMs: 5_000,
  stopGraceMs: 2_000,
  messageBytes: 16 * 1024 * 1024,
  resultChars: 1_000_000,
  toolsPerServer: 1_000,
  descriptionChars: 2_000,
  saidChars: 500,
  saidLines: 100,
  openApprovals: 200,
};

/** What `timeout` of a server in `tools.json` may be, in milliseconds. */
export const CALL_TIMEOUT_MS = { min: 1_000, max: 3_600_000 } as const;

/** Length of `tools.json`. Larger files are no configuration. */
export const CONFIG_BYTES = 1024 * 1024;
