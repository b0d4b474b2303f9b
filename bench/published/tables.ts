/**
 * The tables of the post, from what was measured.
 *
 * Owns which figure of the post is which statistic of ours. What passes is for `tolerance.ts` to say.
 */
import { FOLLOWING, STRATEGIES, WAITING } from '../asking.ts';
import type { PublishedRow, PublishedTable } from '../result-format.ts';
import { percentile, sorted } from '../statistics.ts';
import type { RunRecord } from '../virtual/rounds.ts';
import type { PublishedFigures } from './figures.ts';
import type { ModeData } from './measure.ts';
import { countRow, exactRow, measuredRow, NETWORK_SLACK_S, type Statistic, tableOf } from './row.ts';
import { offlineTable } from './table-of-absence.ts';
import { completionTables } from './tables-of-completions.ts';

type Data = readonly ModeData[];

/** Experiments of the post have 500 to 2,000 runs. Where it does not say how many, the least. */
const LEAST_N = 500;

export function publishedTables(data: Data, figures: PublishedFigures): PublishedTable[] {
  return [
    pickupTable(data, figures),
    fanoutTable(data, figures),
    slotsTable(data),
    askingTable(data, figures),
    cancelTable(data, figures),
    idempotencyTable(data, figures),
    offlineTable(data, figures),
    ...completionTables(data, figures),
  ];
}

export function pickupsS(records: readonly RunRecord[]): number[] {
  return records.flatMap(({ startedAt, queuedAt }) => (startedAt === null ? [] : [(startedAt - queuedAt) / 1_000]));
}

function pickupTable(data: Data, { pickup }: PublishedFigures): PublishedTable {
  const samples = data.map((each) => pickupsS(each.pickup));
  const row = (statistic: Statistic, value: number) =>
    measuredRow({
      name: statistic,
      unit: 's',
      digits: 1,
      statistic,
      published: { value, n: pickup.n },
      samples,
      networkS: NETWORK_SLACK_S,
    });
  const { mean_s, median_s, p95_s, max_s } = pickup;
  return tableOf(
    {
      name: 'pickup',
      title: 'How long does a run sit in the queue? (queued → started)',
      n: { published: pickup.n, ours: samples.map((sample) => sample.length) },
      notes: [],
    },
    [row('mean', mean_s), row('median', median_s), row('p95', p95_s), row('max', max_s)],
  );
}

/** Of each round, when its first and its last result were there. */
function resultsS(records: readonly RunRecord[]): { first: number[]; last: number[] } {
  const rounds = new Map<number, number[]>();
  for (const { round, knownAt, queuedAt } of records) {
    const results = rounds.get(round) ?? [];
    results.push((knownAt - queuedAt) / 1_000);
    rounds.set(round, results);
  }
  const all = [...rounds.values()];
  return { first: all.map((results) => Math.min(...results)), last: all.map((results) => Math.max(...results)) };
}

function resultsOf(data: Data, count: number, slots: number) {
  return data.map(({ fanouts, pickup }) => {
    const found = fanouts.find((each) => each.count === count && each.slots === slots);
    return resultsS(count === 1 ? pickup : (found?.records ?? []));
  });
}

function fanoutTable(data: Data, { fanout }: PublishedFigures): PublishedTable {
  const rows = fanout.flatMap((figure) => {
    const results = resultsOf(data, figure.queued_at_once, 1);
    const row = (which: 'first' | 'last', statistic: Statistic, value: number) =>
      measuredRow({
        name: `${figure.queued_at_once} at once: ${which} result, ${statistic}`,
        unit: 's',
        digits: 0,
        statistic,
        published: { value, n: LEAST_N },
        samples: results.map((each) => each[which]),
        networkS: NETWORK_SLACK_S * figure.queued_at_once,
      });
    return [
      row('first', 'median', figure.first_median_s),
      row('last', 'median', figure.last_median_s),
      row('last', 'p95', figure.last_p95_s),
    ];
  });
  const n = data.map(({ fanouts }) => fanouts[0]?.rounds ?? 0);
  return tableOf(
    {
      name: 'fan-out',
      title: 'Several runs queued at once, one after another on the desktop',
      n: { published: null, ours: n },
      notes: [
        `The post does not say how many rounds it has; ${LEAST_N} is its least. One at once are the runs of the table above.`,
        'A held request saves the first wait only: serial runs stay serial.',
      ],
    },
    rows,
  );
}

function slotsTable(data: Data): PublishedTable {
  const some = (data[0]?.fanouts ?? []).filter(({ slots }) => slots > 1);
  const rows = some.flatMap(({ count, slots }) => {
    const results = resultsOf(data, count, slots);
    return (['median', 'p95'] as const).map((statistic) =>
      measuredRow({
        name: `${count} at once, ${slots} slots: last result, ${statistic}`,
        unit: 's',
        digits: 0,
        statistic,
        published: null,
        samples: results.map(({ last }) => last),
      }),
    );
  });
  return tableOf(
    {
      name: 'slots',
      title: 'The same when the owner lets more runs run at once (not in the post)',
      n: { published: null, ours: data.map(({ fanouts }) => fanouts.find(({ slots }) => slots > 1)?.rounds ?? 0) },
      notes: [],
    },
    rows,
  );
}

function askingTable(data: Data, { client_polling }: PublishedFigures): PublishedTable {
  const rows = STRATEGIES.flatMap(({ name }, index) => {
    const figure = client_polling.find(({ strategy }) => strategy === name);
    const calls = data.map(({ asking }) => asking.map(({ asked }) => asked[index]!.calls));
    const late = data.map(({ asking }) => asking.map(({ asked, knownAt }) => (asked[index]!.knewAt - knownAt) / 1_000));
    const row = (what: 'calls' | 'late', statistic: Statistic, value: number | undefined): PublishedRow =>
      measuredRow({
        name: `${name}: ${what === 'calls' ? 'calls' : 'noticed late'}, ${statistic}`,
        unit: what === 'calls' ? 'calls' : 's',
        digits: what === 'calls' && statistic === 'p95' ? 0 : 1,
        statistic,
        published: value === undefined ? null : { value, n: figure!.n },
        samples: what === 'calls' ? calls : late,
      });
    return [
      row('calls', 'mean', figure?.calls_mean),
      row('calls', 'p95', figure?.calls_p95),
      row('late', 'mean', figure?.late_mean_s),
      row('late', 'p95', figure?.late_p95_s),
    ];
  });
  return tableOf(
    {
      name: 'asking',
      title: 'How often should the agent call get_graph_run?',
      n: { published: client_polling[0]?.n ?? null, ours: data.map(({ asking }) => asking.length) },
      notes: [
        'All clients watch the same runs. Late is counted from when the relay has the result; the client has no network.',
        `${WAITING.name} is not in the post: each call waits up to ${WAITING.wait_s} s for a change, and the next follows a second later.`,
        `${FOLLOWING.name} is not in the post: each call comes when the answer before said that a look is likely to find the end.`,
      ],
    },
    rows,
  );
}

function cancelTable(data: Data, { cancel }: PublishedFigures): PublishedTable {
  const found = (records: readonly RunRecord[], kind: 'queued' | 'running') =>
    records.filter((record) => record.cancel?.found === kind);
  const countOf = (kind: 'queued' | 'running') =>
    data.map((each) => ({ count: found(each.cancel, kind).length, of: each.cancel.length }));
  const after = (kind: 'queued' | 'running') =>
    data.map((each) => found(each.cancel, kind).map(({ cancel: c, knownAt }) => (knownAt - c!.askedAt) / 1_000));
  const countHead = (name: string) => ({ name, unit: 'runs' as const, digits: 0 });
  const row = (kind: 'queued' | 'running', statistic: Statistic, value: number) =>
    measuredRow({
      name: `${kind}: ended after, ${statistic}`,
      unit: 's',
      digits: 1,
      statistic,
      published: { value, n: kind === 'queued' ? cancel.still_queued : cancel.already_running },
      samples: after(kind),
      networkS: NETWORK_SLACK_S,
    });
  const { still_queued, already_running, n } = cancel;
  return tableOf(
    {
      name: 'cancel',
      title: 'What does a cancel stop? (0 to 40 s after queueing)',
      n: { published: n, ours: data.map((each) => each.cancel.length) },
      notes: [`Counts are for ${n} cancels. The engine needs 0.5 s to stop.`],
    },
    [
      countRow(countHead('still queued'), { published: still_queued, n, ours: countOf('queued') }),
      countRow(countHead('already running'), { published: already_running, n, ours: countOf('running') }),
      row('queued', 'mean', cancel.queued_terminal_after_s),
      row('running', 'mean', cancel.running_terminal_mean_s),
      row('running', 'p95', cancel.running_terminal_p95_s),
      row('running', 'max', cancel.running_terminal_max_s),
    ],
  );
}

function idempotencyTable(data: Data, { idempotency }: PublishedFigures): PublishedTable {
  const { runs, new_key, same_key, reply_loss } = idempotency;
  const rows = (['newKeys', 'sameKey'] as const).flatMap((kind) => {
    const published = kind === 'newKeys' ? new_key : same_key;
    const name = kind === 'newKeys' ? 'a new key for each retry' : 'the same key';
    const samples = data.map((each) => each[kind].flatMap(({ attempts }) => attempts));
    const mean = published.calls.reduce((sum, calls) => sum + calls, 0) / published.calls.length;
    const calls = measuredRow({
      name: `${name}: calls for ${runs} runs, mean`,
      unit: 'calls',
      digits: 0,
      statistic: 'mean',
      published: { value: mean, n: runs * published.calls.length },
      samples,
      times: runs,
    });
    const perCall = data.map((each) =>
      rangeOf(each[kind].map(({ queued, attempts }) => (kind === 'newKeys' ? queued - sum(attempts) : queued))),
    );
    const expected = published.queued.map((queued, i) => (kind === 'newKeys' ? queued - published.calls[i]! : queued));
    const what = kind === 'newKeys' ? 'runs queued less calls' : `runs queued for ${runs} runs`;
    const queuedRow = exactRow({ name: `${name}: ${what}`, unit: 'runs', digits: 0 }, rangeOf(expected), perCall);
    return [calls, queuedRow];
  });
  return tableOf(
    {
      name: 'idempotency',
      title: `What does the idempotency key buy? (${Math.round(reply_loss * 100)} % of replies lost)`,
      n: { published: new_key.calls.length, ours: data.map((each) => each.newKeys.length) },
      notes: [`Sample sizes are repetitions of ${runs} runs. The relay's limits on waiting runs are raised for this.`],
    },
    rows,
  );
}

/** One value, when all are equal. */
function rangeOf(values: readonly number[]): string {
  const ascending = sorted(values);
  const [low, high] = [percentile(ascending, 0), percentile(ascending, 1)];
  return low === high ? String(low) : `${low} to ${high}`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
