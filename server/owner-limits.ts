/**
 * The limits that an owner may set on the command line of the relay or in its environment.
 *
 * Owns their names and ranges. Why each is usually as it is, is said in `protocol/limits.ts`; here is said how far it may
 * go.
 */
import type { Option } from 'commander';
import { countOption, durationOption } from '../protocol/host/limit-options.ts';
import { CAPACITY_MAX, KEY_RETENTION_MS, PRESENCE_MS, START_WITHIN_SECONDS } from '../protocol/limits.ts';
import { DEFAULT_LIMITS, type RelayLimits } from './relay-limits.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

interface OwnerLimit {
  readonly key: keyof RelayLimits;
  /** Without it, it is a duration. */
  readonly unit?: string;
  readonly name: string;
  readonly what: string;
  readonly min: number;
  readonly max: number;
  readonly zeroIsOff?: true;
}

const OWNER_LIMITS: readonly OwnerLimit[] = [
  // Every waiting run lives in memory and is looked at when its place in the queue is told.
  {
    key: 'queuedPerDesktop',
    name: 'queue-per-desktop',
    unit: 'runs',
    what: 'waiting runs of one desktop',
    min: 1,
    max: 10_000,
  },
  {
    key: 'queuedPerProject',
    name: 'queue-per-project',
    unit: 'runs',
    what: 'waiting runs of one project, on all its desktops',
    min: 1,
    max: 100_000,
  },
  // As far as a caller may go.
  {
    key: 'startByDefaultMs',
    name: 'start-by',
    what: 'a run that has not started expires after this, unless its caller said how soon',
    min: START_WITHIN_SECONDS.min * 1_000,
    max: START_WITHIN_SECONDS.max * 1_000,
  },
  // A desktop that is online must never count as lost.
  {
    key: 'lostAfterMs',
    name: 'lost-after',
    what: 'a running run is lost when nothing is heard of its desktop for this',
    min: 2 * PRESENCE_MS,
    max: 30 * DAY,
  },
  // Idempotency keys live as long as their runs, and have a least life of their own.
  {
    key: 'runRetentionMs',
    name: 'keep-runs-for',
    what: 'finished runs are kept with their results for this',
    min: KEY_RETENTION_MS,
    max: 3_650 * DAY,
  },
  {
    key: 'runsKept',
    name: 'keep-runs',
    unit: 'runs',
    what: 'finished runs that are kept; those of the last 24 hours are kept all the same',
    min: 0,
    max: 1_000_000,
  },
  // Requests that are held are few. What a burst costs, is work and not memory.
  {
    key: 'requestsPerAgent',
    name: 'requests-per-agent',
    unit: 'requests',
    what: 'requests of one agent a minute, and at once; 0: no limit',
    min: 0,
    max: 1_000_000,
    zeroIsOff: true,
  },
  {
    key: 'requestsPerDesktop',
    name: 'requests-per-desktop',
    unit: 'requests',
    what: 'requests of one desktop a minute, and at once; 0: no limit',
    min: 0,
    max: 1_000_000,
    zeroIsOff: true,
  },
  // One held control for each run at once, and some to spare. About 30 KiB each.
  {
    key: 'heldPerDesktop',
    name: 'held-per-desktop',
    unit: 'requests',
    what: 'requests of one desktop that are held besides its sync: one for each run that goes on',
    min: 1,
    max: 16 * CAPACITY_MAX,
  },
];

const OPTIONS: readonly { readonly key: keyof RelayLimits; readonly option: Option }[] = OWNER_LIMITS.map((limit) => {
  const words = { ...limit, usual: DEFAULT_LIMITS[limit.key] };
  const { unit } = limit;
  return { key: limit.key, option: unit === undefined ? durationOption(words) : countOption({ ...words, unit }) };
});

export function ownerLimitOptions(): Option[] {
  return OPTIONS.map(({ option }) => option);
}

/** The limits in what commander made of the command line and the environment. */
export function ownerLimitsIn(parsed: Readonly<Record<string, unknown>>): Partial<RelayLimits> {
  const set = OPTIONS.map(({ key, option }) => [key, parsed[option.attributeName()]] as const);
  return Object.fromEntries(set.filter(([, value]) => typeof value === 'number'));
}

export interface ShownLimit {
  readonly name: string;
  readonly value: number;
  /** `ms` for a duration. */
  readonly unit: string;
  readonly is_default: boolean;
  /** There is no limit. */
  readonly is_off?: true;
}

/** What holds in a running relay, in the order of `--help`. */
export function shownLimits(limits: RelayLimits): ShownLimit[] {
  return OWNER_LIMITS.map(({ key, name, unit = 'ms', zeroIsOff = false }) => ({
    name,
    value: limits[key],
    unit,
    is_default: limits[key] === DEFAULT_LIMITS[key],
    ...(zeroIsOff && limits[key] === 0 && { is_off: true as const }),
  }));
}
