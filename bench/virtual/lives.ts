/**
 * Machines and processes of the bench: they never end, and their wake-ups can be counted.
 *
 * Owns nothing but what differs from the simulation's, whose processes are killed.
 */
import { Life, Machine } from '../sim/hosts/machine.ts';
import type { VirtualClock } from '../sim/virtual-clock.ts';
import type { Meter } from './meter.ts';

/** Nobody has to be told of an end that does not come. Each call would be remembered until then. */
export class EndlessLife extends Life {
  override onEnd(): void {}
}

/** A machine whose arrivals stir it. */
export class MeteredMachine extends Machine {
  readonly #meter: Meter;

  constructor(world: VirtualClock, meter: Meter) {
    super(world);
    this.#meter = meter;
  }

  override whenAwake(run: () => void): void {
    super.whenAwake(() => {
      this.#meter.active();
      run();
    });
  }
}

/** A process whose timers stir its machine. */
export class MeteredLife extends EndlessLife {
  readonly #meter: Meter;

  constructor(machine: Machine, name: string, meter: Meter) {
    super(machine, name);
    this.#meter = meter;
  }

  override after(delayMs: number, run: () => void) {
    return super.after(delayMs, () => {
      this.#meter.active();
      run();
    });
  }
}
