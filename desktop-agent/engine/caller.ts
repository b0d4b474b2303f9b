/**
 * One Graph of a run as the gates see it: who asked, what it may take, and where the answer goes.
 *
 * Owns the shapes only; the Graph itself is in `graph-frame.ts`.
 */
import type { GraphEvent } from '../run-events.ts';
import type { Allowance } from './allowance.ts';

/** How a call ended. */
export type CallAnswer = { readonly id: number } & (CallValue | CallError);

interface CallValue {
  /** JSON text where the call gives a value. */
  readonly text: string;
  readonly error: null;
}

interface CallError {
  /** What went wrong. */
  readonly text: string;
  readonly error: CallErrorKind;
}

export interface CallErrorKind {
  /** The name of the error that the Graph gets. */
  readonly name: string;
  /** The same call would be refused again: `retry` gives up. */
  readonly final: boolean;
}

export interface Caller {
  /** Its number in the run; null for the outermost. */
  readonly number: number | null;
  readonly allowance: Allowance;
  /** It, or a Graph on the way to it, has ended: what it has asked for and what waits is not begun any more. */
  readonly ended: boolean;
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
