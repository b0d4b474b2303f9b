/**
 * The clock of a sandbox's worker: how much the worker's thread has computed.
 *
 * The one file of the engine that reads a real clock instead of a port: the check must work while the worker computes,
 * when nothing from outside can reach it. Never used for anything that a Graph can see.
 */

/**
 * CPU time of this thread where the runtime knows it, so that a loaded machine or a sleeping laptop does not count
 * against a Graph; otherwise time that passed.
 */
export function threadMs(): number {
  if (typeof process.threadCpuUsage !== 'function') return performance.now();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
