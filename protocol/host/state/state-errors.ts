/**
 * Why a state could not be opened or read. These stop a start; they never cross the wire.
 *
 * Owns the two classes and their wording. A message says what happened, to which file, and what the reader can do.
 */

/** What is stored cannot be trusted. Nothing was overwritten. */
export class StateDamagedError extends Error {
  readonly code = 'state-damaged';
  /** The file that is damaged or missing. */
  readonly path: string;
  /** What is wrong with it, without its name: "is empty". */
  readonly fault: string;
  constructor(damage: { path: string; fault: string; advice: string }) {
    super(`${damage.path} ${damage.fault}. ${damage.advice}`);
    this.name = 'StateDamagedError';
    this.path = damage.path;
    this.fault = damage.fault;
  }
}

/** Another living process works on the same folder. */
export class StateLockedError extends Error {
  readonly code = 'state-locked';
  readonly pid: number;
  constructor(holder: { pid: number; directory: string; lockPath: string }) {
    super(
      `The folder ${holder.directory} is in use by the process with the id ${holder.pid}. Stop that process or choose ` +
        `another folder. If that process has nothing to do with Graph Relay, delete ${holder.lockPath} and start again.`,
    );
    this.name = 'StateLockedError';
    this.pid = holder.pid;
  }
}
