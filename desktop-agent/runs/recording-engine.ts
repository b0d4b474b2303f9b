/**
 * An engine whose runs are written down: between the runner and the engine that runs the Graphs.
 *
 * Owns nothing of a run. It passes everything on as it is, first to the history and then to who asked, and a fault of
 * the history changes nothing for the run.
 */
import type { Engine, GraphRun, RunningGraph } from '../ports.ts';
import type { RunHistory } from './run-history.ts';

/** Closing it writes what waits, for up to `graceMs`. */
export function recordingEngine(engine: Engine, history: RunHistory, graceMs: number): Engine {
  function start(run: GraphRun): RunningGraph {
    const watched = history.begin(run);
    const running = engine.start({
      ...run,
      onEvent(event) {
        watched.event(event);
        run.onEvent(event);
      },
    });
    watched.running(running);
    const done = running.done.then((outcome) => {
      watched.ended(outcome);
      return outcome;
    });
    return { done, cancel: (reason) => running.cancel(reason) };
  }

  async function close(): Promise<void> {
    await engine.close();
    await history.close(graceMs);
  }

  return { start, close };
}
