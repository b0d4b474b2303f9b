/** What is said of a list of measured values. */

export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** The value below which this share of the values lies, by the nearest rank; NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function quantiles(values: readonly number[]): Quantiles {
  const at = (share: number) => Math.round(quantile(values, share));
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
