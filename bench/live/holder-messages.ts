/** What the bench and the process that only holds requests say to each other. Shapes only. */

export type HolderQuestion =
  | { readonly ask: 'begin'; readonly url: string; readonly project: string; readonly tokens: readonly string[] }
  /** Hold as many requests as this. */
  | { readonly ask: 'hold'; readonly count: number }
  | { readonly ask: 'counts' };

export interface HolderAnswer {
  /** Held requests that the relay has answered since the beginning, and those that failed. */
  readonly answered: number;
  readonly failed: number;
  /** Why the last one failed. */
  readonly failure: string | null;
}
