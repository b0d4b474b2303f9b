/** The table about a desktop that is away. The post has one such absence; ours are many, so it is one draw from ours. */
import type { PublishedTable } from '../result-format.ts';
import { percentile, sorted } from '../statistics.ts';
import type { PublishedFigures } from './figures.ts';
import type { ModeData } from './measure.ts';
import { exactRow, halfUnit, judgedRow, NETWORK_SLACK_S, tableOf } from './row.ts';
import { acceptedDraw, acceptedWithin } from './tolerance.ts';

const SECONDS = { unit: 's', digits: 0 } as const;

export function offlineTable(data: readonly ModeData[], { offline }: PublishedFigures): PublishedTable {
  const firsts = data.map((each) => sorted(each.offline.map(({ firstStartMs }) => firstStartMs / 1_000)));
  const lasts = data.map((each) => sorted(each.offline.map(({ allEndedMs }) => allEndedMs / 1_000)));
  const slack = halfUnit(SECONDS) + NETWORK_SLACK_S * offline.queued_while_offline;
  const one = (values: readonly (string | number)[]) => [...new Set(values)].sort().join(', ');
  const statuses = data.map((each) => one(each.offline.flatMap((round) => round.statuses)));
  const executed = data.map((each) => one(each.offline.map((round) => round.executedWhileAway)));
  const later = data.map((each) => one(each.offline.map((round) => round.executed)));
  const ends = data.map((each) => one(each.offline.flatMap((round) => round.ends)));
  const text = (name: string) => ({ name, unit: '' as const, digits: 0 });
  const { executed_while_offline, queued_while_offline, all_completed_after_online_s: allAfter } = offline;
  return tableOf(
    {
      name: 'offline',
      title: 'What if the desktop drops off? (600 s without network, five runs queued meanwhile)',
      n: { published: 1, ours: data.map((each) => each.offline.length) },
      notes: [
        `The post has one absence. Of ours in ${data[0]!.mode.name}, ${placeOf(allAfter, lasts[0]!)} were done as soon as its five runs (${allAfter} s).`,
        'Ours are medians.',
      ],
    },
    [
      exactRow(text('status meanwhile'), 'queued', statuses),
      exactRow(text('executed meanwhile'), String(executed_while_offline), executed),
      judgedRow(
        { name: 'back online: first start after', ...SECONDS },
        {
          published: offline.first_start_after_online_s,
          ours: firsts.map((sample) => percentile(sample, 0.5)),
          accepted: acceptedWithin(firsts[0]!, slack),
          rule: 'range',
        },
      ),
      judgedRow(
        { name: 'back online: all ended after', ...SECONDS },
        {
          published: allAfter,
          ours: lasts.map((sample) => percentile(sample, 0.5)),
          accepted: acceptedDraw(lasts[0]!, slack),
          rule: 'draw',
        },
      ),
      exactRow(text('executed in the end'), String(queued_while_offline), later),
      exactRow(text('status in the end'), 'completed', ends),
    ],
  );
}

/** How many of a sample are no greater than a value. */
function placeOf(value: number, sample: readonly number[]): string {
  return `${sample.filter((each) => each <= value).length} of ${sample.length}`;
}
