/** What the bench and its relay process say to each other. Shapes only. */

export type RelayQuestion =
  | { readonly ask: 'record'; readonly on: boolean }
  | { readonly ask: 'marks' }
  /** `collected`: what is kept is looked at after a collection of garbage. */
  | { readonly ask: 'usage'; readonly collected: boolean };

/** An instant that only the relay sees, on the clock that all processes share. */
export interface RelayMark {
  /** The command is in the queue and its write has begun; an answer to a sync goes out; a control has come in. */
  readonly what: 'queued' | 'sync-written' | 'control-arrived';
  readonly atUs: number;
  readonly commandId?: string;
}

export interface RelayUsage {
  readonly atUs: number;
  /** Of all its threads, since it started. */
  readonly cpuUs: number;
  readonly rssBytes: number;
  /** On the heap and beside it. */
  readonly keptBytes: number;
}

export interface RelayAnswer {
  readonly marks: readonly RelayMark[];
  readonly usage: RelayUsage;
}
