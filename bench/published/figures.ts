/** The published figures, as a file. Another file of the same form can be put in their place. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { BenchError } from '../bench-error.ts';
import own from './published-tables.json' with { type: 'json' };

const count = z.int().min(0);
const seconds = z.number().min(0);

const repetitionsSchema = z.object({ calls: z.array(count).min(1), queued: z.array(count).min(1) });
const textSchema = z.object({ chars: count, utf8_bytes: count });

const figuresSchema = z.object({
  model: z.object({ run_median_s: seconds, run_min_s: seconds, stop_delay_s_fitted: seconds }),
  pickup: z.object({ n: count, mean_s: seconds, median_s: seconds, p95_s: seconds, max_s: seconds }),
  fanout: z.array(
    z.object({
      queued_at_once: z.int().min(1).max(99),
      first_median_s: seconds,
      last_median_s: seconds,
      last_p95_s: seconds,
    }),
  ),
  client_polling: z.array(
    z.object({
      strategy: z.string(),
      n: count,
      calls_mean: seconds,
      calls_p95: seconds,
      late_mean_s: seconds,
      late_p95_s: seconds,
    }),
  ),
  cancel: z.object({
    n: count,
    still_queued: count,
    already_running: count,
    queued_terminal_after_s: seconds,
    running_terminal_mean_s: seconds,
    running_terminal_p95_s: seconds,
    running_terminal_max_s: seconds,
  }),
  idempotency: z.object({
    runs: z.int().min(1).max(10_000),
    reply_loss: z.number().min(0).max(0.95),
    new_key: repetitionsSchema,
    same_key: repetitionsSchema,
  }),
  offline: z.object({
    executed_while_offline: count,
    queued_while_offline: count,
    first_start_after_online_s: seconds,
    all_completed_after_online_s: seconds,
  }),
  outbox: z.object({
    completion_post_lost_once: z.object({
      outbox_on: z.object({ status: z.string(), delivered_after_start_s: seconds.nullable() }),
      outbox_off: z.object({ status: z.string(), delivered_after_start_s: seconds.nullable() }),
    }),
  }),
  result_bound: z.object({ ascii: textSchema, japanese: textSchema }),
  visibility: z.object({ other_agent_reads_run: z.string() }),
});
export type PublishedFigures = z.infer<typeof figuresSchema>;

/** The post's own, or those of another file. */
export function readFigures(path: string | null): PublishedFigures {
  if (path === null) return figuresSchema.parse(own);
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BenchError('file-unreadable', `The published figures in ${path} cannot be read: ${reason}`);
  }
  const checked = figuresSchema.safeParse(json);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw new BenchError(
    'file-invalid',
    `${path} does not have the form of the published figures: ${issue?.path.join('.')}: ${issue?.message}. Take bench/published/published-tables.json as an example.`,
  );
}
