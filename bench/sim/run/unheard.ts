/**
 * Rejections that nobody listens for. In a real process one of them is the end of it, whatever else goes on there.
 *
 * Owns the listening for the time of one seed. Seeds of one thread run one after another, so it knows whose they are.
 */
import type { Violation } from '../checkers/checker.ts';

export const NOTHING_UNHEARD = 'no error is left to itself, which would end the process';

/** Starts to listen. What is returned stops it, and says what was heard. */
export function listenForUnheard(now: () => number): () => Violation[] {
  const heard: Violation[] = [];
  const hear = (reason: unknown) => {
    const text = reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason);
    heard.push({ rule: NOTHING_UNHEARD, text, at: now(), commandId: null });
  };
  process.on('unhandledRejection', hear);
  return () => {
    process.off('unhandledRejection', hear);
    return heard;
  };
}
