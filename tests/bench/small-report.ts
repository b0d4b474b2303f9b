/** What a report is made of in tests: a few runs of each, of one seed. */
export const SMALL = { seed: 3, runs: 20, threads: 1 } as const;
export const GIVEN = { command: 'a test', seed: SMALL.seed, began: { at: 0, monotonic: 0 } } as const;
