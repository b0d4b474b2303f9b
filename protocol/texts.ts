/**
 * Texts that are part of the contract: callers compare and show them, so they change only with the contract.
 */

/** For an unknown run, another agent's run, and a run whose access was removed: the three cannot be told apart. */
export const RUN_NOT_FOUND = 'Graph run not found or access removed';

/** The outcome of a command whose session is not shared with its project any more when it is about to run. */
export const NOT_SHARED = 'Graph session is no longer shared with this project';

/** The outcome of a run that was going on when its desktop stopped. It is never run again: Graphs have side effects. */
export const RESTARTED_DURING_RUN = 'the desktop restarted during the run';
