/**
 * What crosses the border between the host thread and a sandbox's worker, in both directions.
 *
 * Owns the shapes, and the check of what comes out. Beyond its shape nothing of it is believed: a Graph that broke out
 * of the interpreter could send anything, and what it may win by that is a lie about its own run.
 */
import { z } from 'zod';
import { isContainer, isDeeperThan } from '../../protocol/json-text.ts';
import type { CallErrorKind } from './caller.ts';
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
  | 'answerSchemaChars'
  | 'waitingChars'
  | 'logEvents'
  | 'logChars'
  | 'agentsPerRun'
  | 'toolCallsPerRun'
  | 'toolInputChars'
  | 'graphCallsPerRun'
  | 'graphArgsChars'
  | 'retryAttempts'
  | 'retryWaitMs'
  | 'retriesPerRun'
>;

/** What a worker is made with. */
export interface SandboxSetup {
  readonly limits: SandboxLimits;
  /** Run a small Graph in a throw-away interpreter first, so that the real one finds everything compiled. */
  readonly rehearse: boolean;
}

/** What the Graph's agents used until now, and what is left for them; null without a ceiling. */
export interface BudgetState {
  readonly spent: number;
  readonly remaining: number | null;
}

/** The one run of a sandbox. */
export interface SandboxStart {
  readonly type: 'start';
  /** How the Graph's file is called in stack traces. */
  readonly fileName: string;
  readonly body: string;
  readonly argsJson: string;
  /** The schema of the arguments, checked before anything of the Graph runs; null for any arguments. */
  readonly argumentsSchema: Readonly<Record<string, unknown>> | null;
  readonly budgetTotal: number | null;
  readonly budget: BudgetState;
}

/** How a call ended. */
export interface SandboxAnswer {
  readonly type: 'answer';
  readonly id: number;
  /** The answer, or what went wrong when there is an error. */
  readonly text: string;
  readonly error: CallErrorKind | null;
  readonly budget: BudgetState;
}

/** Asks whether a text fits the schema of an agent's call that is open. Answered by `checked`, in order. */
export interface SandboxCheck {
  readonly type: 'check';
  readonly id: number;
  readonly text: string;
}

export type ToSandbox = SandboxStart | SandboxAnswer | SandboxCheck;

/** A bounded JSON text, which becomes its value. */
function jsonValue(chars: number, depth: number) {
  return z
    .string()
    .max(chars)
    .transform((text, context): unknown => {
      try {
        const value: unknown = JSON.parse(text);
        if (!isDeeperThan(value, depth)) return value;
      } catch {
        // Told below.
      }
      context.addIssue('no JSON, or nested too deep');
      return z.NEVER;
    });
}

const isObject = (value: unknown): value is Record<string, unknown> => isContainer(value) && !Array.isArray(value);

/** Made for an engine's limits, so that an oversized text is a broken message too. */
export function fromSandboxSchema(limits: SandboxLimits) {
  const { resultDepth, agentsPerRun, toolCallsPerRun, graphCallsPerRun, retriesPerRun } = limits;
  const callId = z
    .int()
    .positive()
    .max(agentsPerRun + toolCallsPerRun + graphCallsPerRun + retriesPerRun);
  return z.discriminatedUnion('type', [
    /** The interpreter is up. */
    z.strictObject({ type: z.literal('ready') }),
    /** The Graph waits; it has handled this many messages of the host. */
    z.strictObject({ type: z.literal('idle'), handled: z.number().int().nonnegative() }),
    z.strictObject({
      type: z.literal('agent'),
      id: callId,
      /** How many messages of the host the Graph had handled: calls with the same number were made together. */
      slice: z.number().int().nonnegative(),
      prompt: z.string().max(limits.promptChars),
      label: z.string(),
      model: z.string().nullable(),
      /** JSON text. */
      schema: jsonValue(limits.answerSchemaChars, resultDepth).refine(isObject).nullable(),
    }),
    z.strictObject({
      type: z.literal('tool'),
      id: callId,
      tool: z.string(),
      /** JSON text. */
      input: jsonValue(limits.toolInputChars, resultDepth),
    }),
    z.strictObject({
      type: z.literal('graph'),
      id: callId,
      reference: z.string(),
      /** JSON text. */
      args: jsonValue(limits.graphArgsChars, resultDepth).refine(isObject),
    }),
    z.strictObject({
      type: z.literal('retry'),
      id: callId,
      attempt: z.number().int().positive().max(limits.retryAttempts),
      attempts: z.number().int().positive().max(limits.retryAttempts),
      waitMs: z.number().int().nonnegative().max(limits.retryWaitMs),
      error: z.string(),
    }),
    /** What is wrong with the text of a `check`. */
    z.strictObject({ type: z.literal('checked'), problem: z.string().nullable() }),
    z.strictObject({ type: z.literal('log'), text: z.string() }),
    z.strictObject({ type: z.literal('phase'), text: z.string() }),
    z.strictObject({ type: z.literal('returned'), json: z.string().max(limits.resultChars) }),
    /** `final`: it would fail again, as far as the Graph can know. */
    z.strictObject({ type: z.literal('failed'), reason: z.string(), final: z.boolean() }),
  ]);
}

type Message = ReturnType<typeof fromSandboxSchema>;

/** As the host gets it, checked. */
export type FromSandbox = z.output<Message>;

/** As the worker sends it. */
export type SandboxMessage = z.input<Message>;
