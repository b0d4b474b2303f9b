/** Scales of axes, linear and logarithmic, and where their ticks are. Knows no unit. */

export interface Scale {
  /** Where a value is, within the range. What lies outside of the domain is put on its border. */
  at(value: number): number;
  readonly ticks: readonly number[];
}

export interface Extent {
  readonly from: number;
  readonly to: number;
}

const STEPS = [1, 2, 5, 10];

/** From zero to a round number that holds the greatest value. */
export function linear(greatest: number, range: Extent, about = 5): Scale {
  const raw = Math.max(greatest, Number.MIN_VALUE) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = STEPS.find((each) => each * power >= raw)! * power;
  const count = Math.max(1, Math.ceil(greatest / step - 1e-9));
  const end = count * step;
  return {
    at: (value) => place(value / end, range),
    // By multiplication, so that no error adds up.
    ticks: Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12))),
  };
}

/** Between the nearest 1, 2 or 5 of a power of ten. Ticks are at the powers; where these are few, at all of them. */
export function logarithmic(domain: Extent, range: Extent): Scale {
  const rounds = Array.from({ length: 40 }, (_, index) => index - 20).flatMap((power) =>
    [1, 2, 5].map((digit) => Number(`${digit}e${power}`)),
  );
  const from = rounds.findLast((value) => value <= domain.from * (1 + 1e-9))!;
  const to = rounds.find((value) => value > from && value >= domain.to * (1 - 1e-9))!;
  const within = rounds.filter((value) => value >= from && value <= to);
  const powers = within.filter((value) => Number.isInteger(Math.round(Math.log10(value) * 1e6) / 1e6));
  const [first, last] = [Math.log10(from), Math.log10(to)];
  return {
    at: (value) => place((Math.log10(Math.max(value, from)) - first) / (last - first), range),
    ticks: powers.length < 3 ? within : powers,
  };
}

function place(share: number, { from, to }: Extent): number {
  return from + Math.min(1, Math.max(0, share)) * (to - from);
}
