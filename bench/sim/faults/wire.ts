/**
 * Requests and answers over a network with weather: what is lost, doubled, late, cut or never ends is decided here.
 *
 * Owns the fate of each call, the same for real HTTP requests and for direct calls: both paths of the simulation send
 * through this. Knows no format; what travels is up to whoever sends.
 */
import type { Random } from '../../../protocol/ports.ts';
import type { CallKind, History } from '../history.ts';
import type { Life } from '../hosts/machine.ts';
import type { VirtualClock } from '../virtual-clock.ts';
import { drawFate, type Fate, type Loss, type Sky } from './weather.ts';

/** What a caller may see in place of an answer. */
export type Breakdown = 'refused' | 'reset' | 'html-504';

export interface Outgoing<A> {
  readonly name: CallKind | 'agent';
  /** Chance of this kind of call: the order in which different kinds are sent changes nobody's fate. */
  readonly random: Random;
  /** Hands the request to whoever serves now. Called once for each arrival. Never rejects. */
  readonly deliver: (signal: AbortSignal) => Promise<A>;
  readonly onAnswer: (answer: A) => void;
  readonly onBreakdown: (breakdown: Breakdown) => void;
}

/** Whoever serves at the moment. */
export interface Site {
  /** The process that serves now; null while there is none. */
  life(): Life | null;
}

export interface WireOptions {
  readonly clock: VirtualClock;
  readonly history: History;
  readonly sky: Sky;
  readonly site: Site;
  /** The caller's side, for traces. */
  readonly caller: string;
}

export class Wire {
  readonly options: WireOptions;

  constructor(options: WireOptions) {
    this.options = options;
  }

  /** Sends a call for a process. Returns how the caller takes it back. */
  send<A>(life: Life, call: Outgoing<A>): () => void {
    const fate = drawFate(call.random, this.options.sky.weather);
    const exchange = new Exchange(this.options, { life, call, fate });
    life.onEnd(() => exchange.callerGone());
    exchange.go();
    return () => exchange.callerGone();
  }
}

/** One call on its way, from sending to answer. */
class Exchange<A> {
  readonly #wire: WireOptions;
  readonly #life: Life;
  readonly #call: Outgoing<A>;
  readonly #fate: Fate;
  readonly #arrivals: AbortController[] = [];
  /** The caller has what it will ever get, or does not want it any more. */
  #over = false;
  #callerGone = false;

  constructor(wire: WireOptions, given: { life: Life; call: Outgoing<A>; fate: Fate }) {
    this.#wire = wire;
    this.#life = given.life;
    this.#call = given.call;
    this.#fate = given.fate;
  }

  go(): void {
    const { requestMs, requestLost, duplicateAfterMs, secondAnswers } = this.#fate;
    const { clock } = this.#wire;
    if (requestLost !== null) {
      clock.after(requestMs, () => this.#lost('request', requestLost));
      return;
    }
    const doubled = duplicateAfterMs !== null;
    clock.after(requestMs, () => this.#arrive(!doubled || !secondAnswers));
    if (doubled) clock.after(requestMs + duplicateAfterMs, () => this.#arriveAgain(secondAnswers));
  }

  /** The caller does not want it any more, or has ended. The other side hears of it later, or never. */
  callerGone(): void {
    if (this.#over) return;
    this.#callerGone = true;
    this.#over = true;
    if (this.#fate.endsSilently) return;
    this.#wire.clock.after(this.#fate.goneMs, () => {
      for (const arrival of this.#arrivals) arrival.abort();
    });
  }

  #arriveAgain(answers: boolean): void {
    this.#wire.history.countFault('request doubled');
    this.#arrive(answers);
  }

  #arrive(answers: boolean): void {
    const { site, history, caller } = this.#wire;
    const { name } = this.#call;
    const server = site.life();
    history.tell(caller, `${name} arrives`);
    if (server === null) {
      this.#breakAfter(this.#fate.answerMs, 'refused');
      return;
    }
    const arrival = new AbortController();
    this.#arrivals.push(arrival);
    const id = history.nextId();
    if (name !== 'agent') history.add({ type: 'request-opened', desktop: caller, call: name, id });
    let open = true;
    const close = () => {
      if (open && name !== 'agent') history.add({ type: 'request-closed', desktop: caller, call: name, id });
      open = false;
    };
    server.onEnd(() => {
      if (open) this.#serverGone(answers);
      close();
    });
    this.#cutLater(arrival, () => open && answers);
    void this.#call.deliver(arrival.signal).then((answer) => {
      if (!server.alive) return;
      close();
      if (answers) this.#answer(answer);
    });
  }

  #answer(answer: A): void {
    const { clock, history, caller } = this.#wire;
    const { answerLost, answerMs } = this.#fate;
    if (answerLost !== null) {
      clock.after(answerMs, () => this.#lost('answer', answerLost));
      return;
    }
    clock.after(answerMs, () => {
      if (this.#over) return;
      history.tell(caller, `${this.#call.name} is answered`);
      this.#receive(() => this.#call.onAnswer(answer));
    });
  }

  #cutLater(arrival: AbortController, stillOpen: () => boolean): void {
    const { cutAfterMs, cutAs, endsSilently } = this.#fate;
    if (cutAfterMs === null) return;
    this.#wire.clock.after(cutAfterMs, () => {
      if (this.#over || !stillOpen()) return;
      this.#wire.history.countFault('held request cut');
      this.#breakAfter(this.#fate.answerMs, cutAs);
      if (!endsSilently) arrival.abort();
    });
  }

  #serverGone(answers: boolean): void {
    if (!answers) return;
    if (this.#fate.endsSilently) this.#wire.history.countFault('black hole');
    else this.#breakAfter(this.#fate.answerMs, 'reset');
  }

  #lost(what: 'request' | 'answer', how: Loss): void {
    this.#wire.history.countFault(how === 'silent' ? 'black hole' : `${what} lost`);
    this.#wire.history.tell(this.#wire.caller, `${this.#call.name}: the ${what} is lost`);
    if (how === 'reset') this.#breakAfter(0, 'reset');
  }

  #breakAfter(delayMs: number, breakdown: Breakdown): void {
    this.#wire.clock.after(delayMs, () => {
      if (this.#over) return;
      this.#wire.history.tell(this.#wire.caller, `${this.#call.name} breaks: ${breakdown}`);
      this.#receive(() => this.#call.onBreakdown(breakdown));
    });
  }

  /** A sleeping machine takes what came in when it wakes. */
  #receive(take: () => void): void {
    this.#over = true;
    this.#life.machine.whenAwake(() => {
      if (this.#life.alive && !this.#callerGone) take();
    });
  }
}
