/** What a call cost: the owner's prices times the provider's own token figures. Estimates have no price. */

/** US dollars for a million tokens. */
export interface Prices {
  readonly input: number;
  readonly output: number;
  /** Of input that the provider had in its cache. Default: as other input, which is never too little. */
  readonly cachedInput?: number | undefined;
}

export interface TokenFigures {
  /** All input, cached or not. */
  readonly input: number;
  readonly cachedInput?: number | undefined;
  /** All output, with what the model reasoned. */
  readonly output: number;
}

const MILLION = 1_000_000;

export function costOf(prices: Prices, figures: TokenFigures): number {
  const cached = Math.min(figures.cachedInput ?? 0, figures.input);
  const input = (figures.input - cached) * prices.input + cached * (prices.cachedInput ?? prices.input);
  return (input + figures.output * prices.output) / MILLION;
}
