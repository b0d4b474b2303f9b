/**
 * Limits that an owner sets: an option of the command line and a variable of the environment, with a range.
 *
 * Owns how they are named, read, refused and shown. Which limits there are, and what they are for, is up to the parts.
 */
import { InvalidArgumentError, Option } from 'commander';

export interface LimitWords {
  /** Long name of the option, without dashes. The variable is GRAPH_RELAY_ and the same in capitals. */
  readonly name: string;
  /** What it limits, for `--help`. */
  readonly what: string;
  readonly min: number;
  readonly max: number;
  /** Null for none. */
  readonly usual: number | null;
}

/** How many of something: `<runs>`, `<requests>`. */
export function countOption(words: LimitWords & { readonly unit: string }): Option {
  const range = `from ${words.min} to ${words.max}`;
  const parse = (text: string): number => {
    const count = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (count >= words.min && count <= words.max) return count;
    throw new InvalidArgumentError(`It must be a whole number ${range}.`);
  };
  return limitOption(words, { placeholder: words.unit, range, usual: String(words.usual ?? 'none'), parse });
}

/** How long, in milliseconds inside, as `90s`, `15m`, `24h`, `7d` outside. */
export function durationOption(words: LimitWords): Option {
  const range = `from ${durationText(words.min)} to ${durationText(words.max)}`;
  const parse = (text: string): number => {
    const ms = durationOf(text);
    if (ms !== null && ms >= words.min && ms <= words.max) return ms;
    throw new InvalidArgumentError(`It must be a time ${range}, with its unit: 90s, 15m, 24h, 7d.`);
  };
  return limitOption(words, {
    placeholder: 'time',
    range,
    usual: words.usual === null ? 'none' : durationText(words.usual),
    parse,
  });
}

function limitOption(
  { name, what, usual: value }: LimitWords,
  shown: { placeholder: string; range: string; usual: string; parse: (text: string) => number },
): Option {
  return new Option(`--${name} <${shown.placeholder}>`, `${what}, ${shown.range}`)
    .env(`GRAPH_RELAY_${name.toUpperCase().replaceAll('-', '_')}`)
    .argParser(shown.parse)
    .default(value, shown.usual);
}

const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 } as const;

/** Null for what is no duration. */
function durationOf(text: string): number | null {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  return count === undefined ? null : Number(count) * UNITS[unit as keyof typeof UNITS];
}

/** In the largest unit that says it exactly. One day is said in hours, as people do. */
export function durationText(ms: number): string {
  for (const [unit, size] of Object.entries(UNITS)) {
    const isOneDay = unit === 'd' && ms === size;
    if (ms % size === 0 && ms >= size && !isOneDay) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
}
