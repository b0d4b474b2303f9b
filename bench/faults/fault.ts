/** The shape of a fault: what the desktop's line and machine are like, as data. */
import { z } from 'zod';
import { nameSchema } from '../names.ts';

const shareSchema = z.number().min(0).max(1);

export const faultSchema = z.strictObject({
  name: nameSchema,
  about: z.string().min(1).max(300),
  /** Of the line between desktop and relay; what is left out is calm. */
  weather: z
    .strictObject({
      /** A usual way, in milliseconds, give or take 30 %. */
      wayMs: z.number().min(0).max(10_000),
      /** Shares of messages. */
      slow: shareSchema,
      loseRequest: shareSchema,
      loseAnswer: shareSchema,
      duplicate: shareSchema,
      /** Share of losses that nobody hears of; of the others the caller hears at once. */
      silent: shareSchema,
      /** A request without an answer after this long is cut. */
      cutAfterMs: z.number().min(1),
      cutAs: z.enum(['reset', 'html-504']),
      sockets: z.enum(['open', 'refused', 'swallowed']),
      /** A WebSocket lives about this long. */
      socketLifeMs: z.number().min(1),
    })
    .partial(),
  /** The desktop's machine sleeps again and again. */
  sleep: z.strictObject({ every_s: z.number().min(1).max(86_400), for_s: z.number().min(1).max(86_400) }).nullable(),
});
export type Fault = z.infer<typeof faultSchema>;
