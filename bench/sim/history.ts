/**
 * What happened in a simulated world, fact by fact, as somebody outside would see it.
 *
 * Owns the vocabulary that hosts write and checkers read. Facts are taken at the borders (what an agent was told, what
 * an engine was asked to start, what a desktop was answered), never from the product's own tables.
 */
import type { VirtualClock } from './virtual-clock.ts';

/** The calls of a desktop. */
export type CallKind = 'sync' | 'control' | 'complete' | 'probe';

/** What an agent was told of a run. */
export interface ToldRun {
  readonly status: string;
  readonly executionId: string | null;
  readonly cancelRequested: boolean;
  /** JSON text; null when none was told. */
  readonly result: string | null;
  readonly error: string | null;
  readonly projectId: string;
  readonly session: string;
}

/** What a desktop speaks: ours, over HTTP or WebSocket, or the published plain contract. */
export type Contract = 'trpc' | 'plain-json';

/** One instance of a desktop: `desktop 1#2` is the second start of the first desktop. */
export interface InstanceRef {
  readonly desktop: string;
  readonly instance: string;
}

export type FactBody =
  /** A start call was answered with a ticket. */
  | {
      readonly type: 'ticket';
      readonly agent: string;
      readonly key: string;
      /** What was asked, in one spelling. */
      readonly asked: string;
      /** How soon it has to start, as the agent said; null when it left that to the owner. */
      readonly withinMs: number | null;
      readonly session: string;
      readonly commandId: string;
      readonly replayed: boolean;
      readonly askedAt: number;
    }
  /** A start call was refused with a text for the agent. */
  | {
      readonly type: 'run-refused';
      readonly agent: string;
      readonly key: string;
      readonly asked: string;
      readonly askedAt: number;
    }
  /**
   * The relay told the state of a run, to its agent or to the auditor (who reads as the agent does, without a network).
   * `askedAt` is when the question reached the relay.
   */
  | {
      readonly type: 'told';
      readonly agent: string;
      readonly commandId: string;
      readonly run: ToldRun;
      readonly askedAt: number;
      readonly by: 'start' | 'read' | 'cancel' | 'audit';
    }
  /** The relay said that there is no such run for this agent. */
  | { readonly type: 'not-found'; readonly agent: string; readonly commandId: string; readonly askedAt: number }
  /** A cancel of a run was asked for (and may not have arrived). */
  | { readonly type: 'cancel-asked'; readonly agent: string; readonly commandId: string }
  | (InstanceRef & { readonly type: 'engine-started'; readonly commandId: string; readonly executionId: string })
  | (InstanceRef & {
      readonly type: 'engine-ended';
      readonly commandId: string;
      readonly executionId: string;
      readonly status: string;
      readonly result: string | null;
    })
  | (InstanceRef & {
      readonly type: 'call-sent';
      readonly call: CallKind;
      readonly id: number;
      readonly commandId: string | null;
    })
  /** The desktop got an answer, or gave up (`error` is the code). */
  | (InstanceRef & {
      readonly type: 'call-ended';
      readonly call: CallKind;
      readonly id: number;
      readonly sentAt: number;
      readonly commandId: string | null;
      readonly error: string | null;
      /** Of a sync. */
      readonly epoch: number | null;
      readonly offered: readonly string[];
      /** Of a control: may it run? */
      readonly go: boolean | null;
    })
  /** A request is with the relay. */
  | { readonly type: 'request-opened'; readonly desktop: string; readonly call: CallKind; readonly id: number }
  | { readonly type: 'request-closed'; readonly desktop: string; readonly call: CallKind; readonly id: number }
  | (InstanceRef & {
      readonly type: 'desktop-started';
      readonly contract: Contract;
      /** The versions of the protocol that it names; null for none. */
      readonly names: string | null;
    })
  | (InstanceRef & { readonly type: 'desktop-ended'; readonly how: string })
  | { readonly type: 'relay-started' }
  | { readonly type: 'relay-ended'; readonly how: 'killed' | 'drained' }
  /** Something was done to the world. */
  | { readonly type: 'fault'; readonly kind: string; readonly where: string; readonly detail: string }
  /** What the owner shares was changed. */
  | { readonly type: 'sharing-changed'; readonly desktop: string; readonly session: string; readonly how: string }
  | { readonly type: 'calm' };

export type Fact = FactBody & { readonly at: number };
export type FactOf<T extends FactBody['type']> = Extract<Fact, { type: T }>;

/** A line of a part's own log, for the story of a command. */
export interface StoryLine {
  readonly at: number;
  readonly who: string;
  readonly text: string;
  readonly commandId: string | null;
}

export class History {
  readonly facts: Fact[] = [];
  readonly story: StoryLine[] = [];
  /** How often each kind of fault was injected. */
  readonly faults = new Map<string, number>();
  readonly #clock: VirtualClock;
  readonly #listeners: ((fact: Fact) => void)[] = [];
  /** Whether the story is written down. Checkers do without, and it costs a sixth of the time. */
  readonly traced: boolean;
  #ids = 0;

  constructor(clock: VirtualClock, options: { traced: boolean }) {
    this.#clock = clock;
    this.traced = options.traced;
  }

  /** Virtual milliseconds since the world began. */
  get now(): number {
    return this.#clock.monotonic();
  }

  add(fact: FactBody): void {
    const dated = { ...fact, at: this.now } as Fact;
    this.facts.push(dated);
    for (const listener of this.#listeners) listener(dated);
  }

  /** Called for each fact as it happens. */
  onFact(listener: (fact: Fact) => void): void {
    this.#listeners.push(listener);
  }

  /** A line of the trace, and of a command's story when it names one. */
  tell(who: string, text: string, commandId: string | null = null): void {
    if (!this.traced) return;
    this.#clock.trace(commandId === null ? `${who} ${text}` : `${who} ${text} ${commandId}`);
    this.story.push({ at: this.now, who, text, commandId });
  }

  countFault(kind: string): void {
    this.faults.set(kind, (this.faults.get(kind) ?? 0) + 1);
  }

  nextId(): number {
    return ++this.#ids;
  }
}

/** The facts of these types, in order. */
export function factsOf<T extends FactBody['type']>(facts: readonly Fact[], ...types: T[]): FactOf<T>[] {
  const wanted: ReadonlySet<string> = new Set(types);
  return facts.filter((fact): fact is FactOf<T> => wanted.has(fact.type));
}
