/** What a checker is: a rule, and a function that reads the whole history and says where the rule was broken. */
import type { Fact } from '../history.ts';

export interface Violation {
  readonly rule: string;
  /** What was seen, for a person. */
  readonly text: string;
  /** Virtual milliseconds. */
  readonly at: number;
  /** The command it is about, if it is about one. */
  readonly commandId: string | null;
}

/** What a checker knows besides the history: what the world was set up with. */
export interface Setup {
  /** Runs at once, by desktop. */
  readonly slots: ReadonlyMap<string, number>;
  /** The desktop that has each Graph session. */
  readonly desktopOfSession: ReadonlyMap<string, string>;
  /** Projects of each agent. */
  readonly projects: ReadonlyMap<string, readonly string[]>;
  /** What a commit takes at the relay. */
  readonly relayDiskMs: number;
  /** How soon a run has to start when its agent does not say. */
  readonly startByMs: number;
}

export type Break = Omit<Violation, 'rule'>;

export interface Checker {
  /** What must hold, as a sentence. */
  readonly rule: string;
  readonly check: (facts: readonly Fact[], setup: Setup) => Iterable<Break>;
}
