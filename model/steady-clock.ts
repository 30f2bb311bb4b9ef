/** What the wall clock may differ by between two looks and not have jumped. Milliseconds. */
const JUMP_MS = 1_000;
/** Share of the time that passes by which the clock goes faster or slower until it shows what the wall clock does. */
const SLEW = 0.01;

/**
 * Time of day that goes on evenly when the wall clock is set: a jump is told once, and caught up with by a hundredth of the time
 * that passes. So it never goes back, and no duration is wrong by more than that. For what queues wait by, and are ordered by.
 */
export class SteadyClock {
  /** Called once for each jump, with how far the wall clock went ahead, ms. `@default` nobody is told */
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
