/** Smallest deviation of the wall clock between two reads that counts as a jump, ms. */
const JUMP_MS = 1_000;
/** Relative rate at which the clock catches up with the wall clock. */
const SLEW = 0.01;

/**
 * Time of day that stays monotonic when the wall clock is set: reports a jump once, then catches up by 1 % of the
 * elapsed time. So it never goes back, and durations are wrong by at most 1 %. Orders and times queues.
 */
export class SteadyClock {
  /** Called once for each jump with its size, ms. `@default` no-op */
  onJump: (aheadMs: number) => void = () => {};
  readonly #wall: () => number;
  readonly #monotonic: () => number;
  #last: { wall: number; monotonic: number; shown: number };

  constructor(wall: () => number = () => Date.now(), monotonic: () => number = () => performance.now()) {
    this.#wall = wall;
    this.#monotonic = monotonic;
    this.#last = { wall: wall(), monotonic: monotonic(), shown: wall() };
  }

  /** Milliseconds since 1970. */
  now(): number {
    const last = this.#last;
    const [wall, monotonic] = [this.#wall(), this.#monotonic()];
    const passed = monotonic - last.monotonic;
    const jumped = wall - last.wall - passed;
    const due = last.shown + passed;
    const most = passed * SLEW;
    const shown = due + Math.min(most, Math.max(-most, wall - due));
    this.#last = { wall, monotonic, shown };
    if (Math.abs(jumped) >= JUMP_MS) this.onJump(Math.round(jumped));
    return Math.floor(shown);
  }

  date(): Date {
    return new Date(this.now());
  }

  /** ISO 8601. */
  iso(): string {
    return this.date().toISOString();
  }
}

/** Clock of this process. */
export const steadyClock = new SteadyClock();
