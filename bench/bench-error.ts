/** What may be wrong with an order to the bench. Codes are stable; the text is for the person who gave the order. */
import { ExitError } from '../protocol/host/exit-codes.ts';

export type BenchErrorCode =
  /** A mode, workload or fault that is neither one of ours nor a file. */
  | 'unknown-mode'
  | 'unknown-workload'
  | 'unknown-fault'
  /** A file that was named is not there, or cannot be loaded. */
  | 'file-unreadable'
  /** A file was loaded, and what it exports has not the form of a mode, workload or fault. */
  | 'file-invalid'
  /** Two that are compared have the same name. */
  | 'name-taken'
  /** The result that is compared with is no result of this kind, or of another version of the format. */
  | 'baseline-invalid'
  /** Over real sockets nobody takes a desktop's network away. */
  | 'workload-offline'
  /** The machine does not let a process have as many connections as were asked for. */
  | 'too-few-files'
  /** Its runs take longer than a bench in real time may. */
  | 'workload-too-long'
  /** So many runs do not fit into a day. */
  | 'day-too-short'
  /** The result cannot be written where it was asked to be. */
  | 'out-unwritable';

/** Ends the command as one that was not understood. */
export class BenchError extends ExitError {
  readonly code: BenchErrorCode;

  constructor(code: BenchErrorCode, message: string, options?: { cause?: unknown }) {
    super('usage', `${message} [${code}]`, options);
    this.name = 'BenchError';
    this.code = code;
  }
}
