/**
 * Instants that processes of one machine can compare: the system's monotonic clock, which they share.
 *
 * The one file of the bench that reads it; results are in microseconds.
 */

/** Microseconds since some moment that is the same for all processes of this machine. */
export function stampUs(): number {
  return Number(process.hrtime.bigint()) / 1_000;
}
