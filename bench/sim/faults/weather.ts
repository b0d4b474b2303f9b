/**
 * What the network between two places is like, at each moment.
 *
 * Owns the shape of the weather and of one call's fate. A fate takes the same number of draws in any weather, so a
 * storm shifts nobody's dice.
 */
import type { Random } from '../../../protocol/ports.ts';
import { Dice } from './dice.ts';

/** Shares are probabilities for each message. */
export interface Weather {
  /** A usual way, in milliseconds. */
  readonly wayMs: number;
  /** Share of messages that take up to {@link SLOW_MS}: they arrive after what was sent later. */
  readonly slow: number;
  readonly loseRequest: number;
  readonly loseAnswer: number;
  /** Share of losses that nobody hears of; of the others the caller hears at once. */
  readonly silent: number;
  readonly duplicate: number;
  /** A request without an answer after this long is cut; null: never. */
  readonly cutAfterMs: number | null;
  /** What the caller sees of a cut: a broken connection, or a proxy's page. */
  readonly cutAs: 'reset' | 'html-504';
  /** What becomes of a WebSocket: it opens, is refused, or opens and passes nothing on. */
  readonly sockets: 'open' | 'refused' | 'swallowed';
  /** A WebSocket lives about this long; null: until somebody closes it. */
  readonly socketLifeMs: number | null;
}

export const SLOW_MS = 4_000;

export const CALM: Weather = {
  wayMs: 15,
  slow: 0,
  loseRequest: 0,
  loseAnswer: 0,
  silent: 0,
  duplicate: 0,
  cutAfterMs: null,
  cutAs: 'reset',
  sockets: 'open',
  socketLifeMs: null,
};

/** What will happen to one call, drawn when it is sent. */
export interface Fate {
  readonly requestMs: number;
  readonly answerMs: number;
  /** How long until the other side hears that this side has gone. */
  readonly goneMs: number;
  readonly requestLost: Loss | null;
  readonly answerLost: Loss | null;
  /** The request arrives a second time, this long after the first. */
  readonly duplicateAfterMs: number | null;
  /** The second arrival's answer comes back, and not the first one's. */
  readonly secondAnswers: boolean;
  readonly cutAfterMs: number | null;
  readonly cutAs: Weather['cutAs'];
  /** When one side ends in the middle, the other never hears of it. */
  readonly endsSilently: boolean;
}

/** `reset`: the caller hears of it. `silent`: it hears nothing, ever. */
export type Loss = 'reset' | 'silent';

export function drawFate(random: Random, weather: Weather): Fate {
  const dice = new Dice(random);
  const requestMs = wayMs(dice, weather);
  const answerMs = wayMs(dice, weather);
  const goneMs = wayMs(dice, weather);
  const lossOf = (share: number): Loss | null => {
    const lost = dice.chance(share);
    const silent = dice.chance(weather.silent);
    return lost ? (silent ? 'silent' : 'reset') : null;
  };
  const requestLost = lossOf(weather.loseRequest);
  const answerLost = lossOf(weather.loseAnswer);
  const duplicated = dice.chance(weather.duplicate);
  const duplicateAfterMs = dice.magnitude(1, 5_000);
  const secondAnswers = dice.chance(0.5);
  const endsSilently = dice.chance(weather.silent);
  return {
    requestMs,
    answerMs,
    goneMs,
    requestLost,
    answerLost,
    duplicateAfterMs: duplicated ? duplicateAfterMs : null,
    secondAnswers,
    cutAfterMs: weather.cutAfterMs,
    cutAs: weather.cutAs,
    endsSilently,
  };
}

/** Never the same twice, so no two messages arrive in the same instant and the order is never a matter of luck. */
export function wayMs(dice: Dice, weather: Weather): number {
  const usual = weather.wayMs * dice.between(0.7, 1.3);
  const slow = dice.chance(weather.slow);
  const slowMs = dice.between(weather.wayMs, SLOW_MS);
  return slow ? slowMs : usual;
}

/** The weather over one link: what it usually is, and episodes of something else. */
export class Sky {
  #usual: Weather;
  #episodes: { readonly changes: Partial<Weather> }[] = [];
  #now: Weather;

  constructor(usual: Weather) {
    this.#usual = usual;
    this.#now = usual;
  }

  get weather(): Weather {
    return this.#now;
  }

  /** Returns how to end the episode. Those that overlap add up; the later one wins. */
  begin(changes: Partial<Weather>): () => void {
    const episode = { changes };
    this.#episodes.push(episode);
    this.#look();
    return () => {
      this.#episodes = this.#episodes.filter((other) => other !== episode);
      this.#look();
    };
  }

  /** From now on nothing goes wrong any more. */
  calm(): void {
    this.#usual = CALM;
    this.#episodes = [];
    this.#look();
  }

  #look(): void {
    this.#now = Object.assign({}, this.#usual, ...this.#episodes.map(({ changes }) => changes));
  }
}
