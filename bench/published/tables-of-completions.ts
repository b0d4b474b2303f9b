/** The tables about what comes back: a lost completion, the longest result, and who may read it. */
import { RESULT_ENVELOPE_CHARS } from '../../protocol/limits.ts';
import type { PublishedRow, PublishedTable } from '../result-format.ts';
import type { PublishedFigures } from './figures.ts';
import type { ModeData } from './measure.ts';
import { exactRow, halfUnit, judgedRow, NETWORK_SLACK_S, tableOf } from './row.ts';
import { around } from './tolerance.ts';

type Data = readonly ModeData[];

export function completionTables(data: Data, figures: PublishedFigures): PublishedTable[] {
  return [outboxTable(data, figures), boundTable(data, figures), visibilityTable(data, figures)];
}

function outboxTable(data: Data, { outbox }: PublishedFigures): PublishedTable {
  const { outbox_on, outbox_off } = outbox.completion_post_lost_once;
  const on = data.map((each) => each.outboxOn);
  const off = data.map((each) => each.outboxOff);
  const rows = [...deliveryRows('outbox on', outbox_on, on), ...deliveryRows('outbox off', outbox_off, off)];
  return tableOf(
    {
      name: 'outbox',
      title: 'The completion of a run of 30 s is lost once',
      n: { published: 1, ours: data.map(() => 1) },
      notes: [
        'The post does not say how long its run was; any run of 20 to 40 s is delivered by the second tick.',
        'Off: nothing of the outbox reaches the store. With holds, the post is also repeated from memory, until a restart.',
        'Status as told ten minutes later.',
      ],
    },
    rows,
  );
}

function deliveryRows(
  name: string,
  published: { status: string; delivered_after_start_s: number | null },
  ours: readonly { status: string; deliveredAfterStartMs: number | null }[],
): PublishedRow[] {
  const text = (what: string) => ({ name: `${name}: ${what}`, unit: '' as const, digits: 0 });
  const seconds = ours.map(({ deliveredAfterStartMs: ms }) => (ms === null ? null : ms / 1_000));
  const status = exactRow(
    text('status'),
    published.status,
    ours.map((each) => each.status),
  );
  const { delivered_after_start_s: after } = published;
  const head = { ...text('delivered after the start'), unit: 's' as const };
  const [judged] = seconds;
  if (after === null || judged === null || judged === undefined) {
    const told = seconds.map((each) => each ?? 'never');
    return [status, exactRow(head, after ?? 'never', told)];
  }
  const accepted = around(judged, halfUnit(head) + NETWORK_SLACK_S);
  return [status, judgedRow(head, { published: after, ours: seconds, accepted, rule: 'range' })];
}

/** Ours are UUIDs. The post shows none of its own. */
const OUR_ID_CHARS = 36;
const ID_CHARS = { shortest: 1, longest: 64 } as const;

function boundTable(data: Data, { result_bound }: PublishedFigures): PublishedTable {
  const rows = (['ascii', 'japanese'] as const).flatMap((kind) => {
    const published = result_bound[kind];
    const ours = data.map((each) => each[kind]);
    const { chars, bytes } = ours[0]!;
    const low = chars + OUR_ID_CHARS - ID_CHARS.longest;
    const high = chars + OUR_ID_CHARS - ID_CHARS.shortest;
    const row = (unit: 'characters' | 'bytes', measured: number[]): PublishedRow => {
      const factor = unit === 'bytes' ? bytes / chars : 1;
      const accepted = { low: low * factor, high: high * factor };
      const value = unit === 'bytes' ? published.utf8_bytes : published.chars;
      const head = { name: `${kind}: longest result, ${unit}`, unit, digits: 0 };
      return judgedRow(head, { published: value, ours: measured, accepted, rule: 'range' });
    };
    return [
      row(
        'characters',
        ours.map((each) => each.chars),
      ),
      row(
        'bytes',
        ours.map((each) => each.bytes),
      ),
    ];
  });
  return tableOf(
    {
      name: 'result bound',
      title: `How big can the result be? (an envelope of ${RESULT_ENVELOPE_CHARS} characters)`,
      n: { published: 1, ours: data.map(() => 1) },
      notes: [
        `The envelope holds an execution id. Ours have ${OUR_ID_CHARS} characters; the post does not show its own, so ${ID_CHARS.shortest} to ${ID_CHARS.longest} are allowed for.`,
      ],
    },
    rows,
  );
}

function visibilityTable(data: Data, { visibility }: PublishedFigures): PublishedTable {
  const head = { name: 'another agent is told', unit: '' as const, digits: 0 };
  const ours = data.map(({ stranger }) => stranger ?? 'the run itself');
  return tableOf(
    {
      name: 'visibility',
      title: 'Who else can see the run?',
      n: { published: 1, ours: data.map(() => 1) },
      notes: [],
    },
    [exactRow(head, visibility.other_agent_reads_run, ours)],
  );
}
