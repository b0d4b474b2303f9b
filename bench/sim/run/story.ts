/** The life of one command, for a person who wants to know how a rule was broken. */

import type { Violation } from '../checkers/checker.ts';
import type { History, StoryLine } from '../history.ts';

/** Longer stories are cut in the middle: what led to a violation is at their end. */
const MOST_LINES = 60;
/** Without a command, what happened in this last while before the violation. */
const LEAD_MS = 20_000;

/** What the world did that may concern any command. */
const OF_THE_WORLD =
  /^(FAULT|starts|ends:|is killed|is drained|drains|THE STORM|desktop\.connected|transport\.changed)/;

export function storyOf(history: History, violation: Violation): string[] {
  const lines = violation.commandId === null ? lastWhile(history, violation.at) : lifeOf(history, violation);
  const shown = lines.map(({ at, who, text }) => `${seconds(at)}  ${who.padEnd(12)} ${text}`);
  if (shown.length <= MOST_LINES) return shown;
  const head = Math.floor(MOST_LINES / 3);
  const tail = MOST_LINES - head;
  return [...shown.slice(0, head), `… ${shown.length - MOST_LINES} more lines …`, ...shown.slice(-tail)];
}

function lifeOf({ story }: History, { commandId, at }: Violation): StoryLine[] {
  const start = story.find((line) => line.commandId === commandId)?.at ?? 0;
  const during = story.filter((line) => line.at >= start && line.at <= at);
  return during.filter(
    (line) => line.commandId === commandId || (line.commandId === null && OF_THE_WORLD.test(line.text)),
  );
}

function lastWhile({ story }: History, at: number): StoryLine[] {
  return story.filter((line) => line.at <= at && line.at >= at - LEAD_MS);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(3).padStart(9)} s`;
}
