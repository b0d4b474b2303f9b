/**
 * One Graph of a run as the gates see it: who asked, what it may take, and where the answer goes.
 *
 * Owns the shapes only; the Graph itself is in `graph-frame.ts`.
 */
import type { GraphEvent } from '../run-events.ts';
import type { Allowance } from './allowance.ts';

/** How a call ended; `errorName` is the name of the error that the Graph gets, null for an answer. */
export interface CallAnswer {
  readonly id: number;
  /** The answer, or what went wrong. JSON text where the call gives a value. */
  readonly text: string;
  readonly errorName: string | null;
}

export interface Caller {
  /** Its number in the run; null for the outermost. */
  readonly number: number | null;
  readonly allowance: Allowance;
  answer(answer: CallAnswer): void;
  /** What is wrong with an agent's answer for the schema that it was asked with; null when it fits. */
  check(id: number, text: string): Promise<string | null>;
  /** Why this Graph must not call that tool; null when it may. */
  toolProblem(tool: string): string | null;
}

/** Tells of something that happened in the caller's Graph. */
export type Emit = (event: GraphEvent, caller: Caller) => void;

/** Why calls end that nobody waits for any more. */
export const GRAPH_ENDED = 'the Graph that asked has ended';
