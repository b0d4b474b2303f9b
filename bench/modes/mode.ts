/**
 * The shape of a mode: how a desktop asks for work, as data. A protocol idea is one new file like its neighbours here.
 */
import { z } from 'zod';
import type { RelayMode } from '../../desktop-agent/modes.ts';
import { nameSchema } from '../names.ts';

const durationMsSchema = z.number().min(0).max(3_600_000);

const relayModeSchema: z.ZodType<RelayMode> = z.strictObject({
  name: z.enum(['long-poll', 'websocket', 'plain']),
  holdMs: durationMsSchema,
  controlHoldMs: durationMsSchema,
  controlPauseMs: durationMsSchema,
  // A tick each few milliseconds measures the simulation and not a protocol.
  tickMs: z.number().min(100).max(3_600_000).nullable(),
  takesAll: z.boolean(),
});

export const modeSchema = z.strictObject({
  /** What tables call it. */
  name: nameSchema,
  /** What it is, in a sentence. */
  about: z.string().min(1).max(300),
  /** `auto`: as a desktop does by itself, moving between transports. Otherwise held to this one way. */
  relay: z.union([z.literal('auto'), relayModeSchema]),
});
export type BenchMode = z.infer<typeof modeSchema>;
