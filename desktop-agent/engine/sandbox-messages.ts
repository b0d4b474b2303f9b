/**
 * What crosses the border between the host thread and a sandbox's worker, in both directions.
 *
 * Owns the shapes, and the check of what comes out. Beyond its shape nothing of it is believed: a Graph that broke out
 * of the interpreter could send anything, and what it may win by that is a lie about its own run.
 */
import { z } from 'zod';
import type { EngineLimits } from './engine-limits.ts';

/** The limits that are enforced inside the worker; given when it is made. */
export type SandboxLimits = Pick<
  EngineLimits,
  | 'memoryBytes'
  | 'stackBytes'
  | 'cpuSliceMs'
  | 'resultChars'
  | 'resultDepth'
  | 'promptChars'
  | 'waitingPromptChars'
  | 'logEvents'
  | 'logChars'
  | 'agentsPerRun'
>;

/** What a worker is made with. */
export interface SandboxSetup {
  readonly limits: SandboxLimits;
  /** Run a small Graph in a throw-away interpreter first, so that the real one finds everything compiled. */
  readonly rehearse: boolean;
}

/** The one run of a sandbox. */
export interface SandboxStart {
  readonly type: 'start';
  /** How the Graph's file is called in stack traces. */
  readonly fileName: string;
  readonly body: string;
  readonly argsJson: string;
  readonly budgetTotal: number | null;
}

/** How a call of `agent` ended. `spent` is what the run's agents used until then. */
export interface SandboxAnswer {
  readonly type: 'answer';
  readonly id: number;
  /** The answer, or what went wrong when `errorName` is set. */
  readonly text: string;
  readonly errorName: string | null;
  readonly spent: number;
}

export type ToSandbox = SandboxStart | SandboxAnswer;

const callId = z.number().int().positive();

/** Made for an engine's limits, so that an oversized text is a broken message too. */
export function fromSandboxSchema(limits: SandboxLimits) {
  return z.discriminatedUnion('type', [
    /** The interpreter is up. */
    z.strictObject({ type: z.literal('ready') }),
    /** The Graph waits; it has handled this many messages of the host. */
    z.strictObject({ type: z.literal('idle'), handled: z.number().int().nonnegative() }),
    z.strictObject({
      type: z.literal('agent'),
      id: callId.max(limits.agentsPerRun),
      /** How many messages of the host the Graph had handled: calls with the same number were made together. */
      slice: z.number().int().nonnegative(),
      prompt: z.string().max(limits.promptChars),
      label: z.string(),
      model: z.string().nullable(),
    }),
    z.strictObject({ type: z.literal('log'), text: z.string() }),
    z.strictObject({ type: z.literal('phase'), text: z.string() }),
    z.strictObject({ type: z.literal('returned'), json: z.string().max(limits.resultChars) }),
    z.strictObject({ type: z.literal('failed'), reason: z.string() }),
  ]);
}

export type FromSandbox = z.infer<ReturnType<typeof fromSandboxSchema>>;
