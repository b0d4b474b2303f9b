/**
 * A machine of the simulated world and the lives of the processes on it.
 *
 * Owns what a process sees of time: its machine's wall clock (which somebody may set), a monotonic clock (which may
 * stand still while the machine sleeps), and timers. The timers of a killed process never fire; those of a sleeping
 * machine wait. Must not know what runs on it.
 */
import type { Clock, Timer } from '../../../protocol/ports.ts';
import { timerMs, type VirtualClock } from '../virtual-clock.ts';

export class Machine {
  readonly #world: VirtualClock;
  readonly #monotonicSleeps: boolean;
  #wallOffset = 0;
  #asleepSince: number | null = null;
  #sleptMs = 0;
  #onWake: (() => void)[] = [];

  /** `monotonicSleeps`: the monotonic clock stands still during a sleep, as on Linux and macOS; on Windows it goes on. */
  constructor(world: VirtualClock, options: { monotonicSleeps: boolean } = { monotonicSleeps: true }) {
    this.#world = world;
    this.#monotonicSleeps = options.monotonicSleeps;
  }

  get world(): VirtualClock {
    return this.#world;
  }

  get asleep(): boolean {
    return this.#asleepSince !== null;
  }

  now(): number {
    return this.#world.now() + this.#wallOffset;
  }

  monotonic(): number {
    const asleepMs = this.#asleepSince === null ? 0 : this.#world.monotonic() - this.#asleepSince;
    return this.#world.monotonic() - (this.#monotonicSleeps ? this.#sleptMs + asleepMs : 0);
  }

  /** A time service or a person sets the wall clock. */
  stepWall(byMs: number): void {
    this.#wallOffset += byMs;
  }

  /** Puts the wall clock right. */
  setWallRight(): void {
    this.#wallOffset = 0;
  }

  sleep(): void {
    this.#asleepSince ??= this.#world.monotonic();
  }

  wake(): void {
    if (this.#asleepSince === null) return;
    this.#sleptMs += this.#world.monotonic() - this.#asleepSince;
    this.#asleepSince = null;
    const waiting = this.#onWake;
    this.#onWake = [];
    for (const run of waiting) run();
  }

  /** Runs now, or at the end of the sleep. */
  whenAwake(run: () => void): void {
    if (this.asleep) this.#onWake.push(run);
    else run();
  }
}

/** Sums of instants are not exact. A timer is due when it is this near. */
const ROUNDING_MS = 1e-6;

/** One life of a process: from its start to its end, whichever way it ends. */
export class Life implements Clock {
  readonly machine: Machine;
  readonly name: string;
  readonly #world: VirtualClock;
  readonly #onEnd: (() => void)[] = [];
  #alive = true;

  constructor(machine: Machine, name: string) {
    this.machine = machine;
    this.name = name;
    this.#world = machine.world;
  }

  get alive(): boolean {
    return this.#alive;
  }

  now(): number {
    return this.machine.now();
  }

  monotonic(): number {
    return this.machine.monotonic();
  }

  after(delayMs: number, run: () => void): Timer {
    const { machine } = this;
    const due = machine.monotonic() + timerMs(delayMs);
    let cancelled = false;
    let armed: Timer;
    const arm = () => {
      armed = this.#world.after(due - machine.monotonic(), fire);
    };
    const fire = () => {
      if (cancelled || !this.#alive) return;
      if (machine.asleep) machine.whenAwake(arm);
      else if (machine.monotonic() < due - ROUNDING_MS) arm();
      else run();
    };
    arm();
    return {
      cancel: () => {
        cancelled = true;
        armed.cancel();
      },
    };
  }

  /** Called when the life ends, in the order of registering. */
  onEnd(run: () => void): void {
    this.#onEnd.push(run);
  }

  /** From here on nothing that this process had in mind happens. */
  end(): void {
    if (!this.#alive) return;
    this.#alive = false;
    for (const run of this.#onEnd) run();
  }
}
