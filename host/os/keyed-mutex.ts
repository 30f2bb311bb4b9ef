import { MayflyError } from '../../model/errors.ts';
import { orAborted } from './abort.ts';

/** Idle ids whose newest generation is remembered; the longest unused are forgotten first. */
const REMEMBERED_IDS = 10_000;

/** Of what Temporal repeats: which activity, and how often it was begun. */
export interface Attempt {
  activity: string;
  /** From 1. */
  nth: number;
}

interface Line {
  /** Highest generation that ever asked for this id. */
  newest: number;
  /** The latest attempt that asked; null: what asked last is no attempt of anything. */
  attempt: Attempt | null;
  /** Ends when the last step in line has ended. */
  tail: Promise<void>;
  last: AbortController | null;
  users: number;
}

/**
 * Runs the steps of one sandbox one after another, and steps of different sandboxes side by side.
 *
 * A saga asks for one step of a sandbox at a time, so a second request means that Temporal has given the first up
 * (its time ran out, it was cancelled, its worker was thought dead): the newcomer overtakes. The earlier step's signal
 * is aborted with `stale_attempt`, and the newcomer begins when the earlier one has really ended. It is a fence too:
 * once a generation was seen, steps of an older one are refused, so what a cleanup removed is not made again. An attempt that
 * was given up before it got here, since the worker stood still, overtakes no later one of the same activity.
 */
export class KeyedMutex {
  readonly #lines = new Map<string, Line>();

  /**
   * @param generation grows with every decision that overtakes earlier steps @param step its signal is also aborted
   * when a newer step overtakes it @param attempt `@default` of none @throws MayflyError stale_attempt; the signal's
   * reason before its turn
   */
  async run<T>(
    sandboxId: string,
    generation: number,
    signal: AbortSignal,
    step: (signal: AbortSignal) => Promise<T>,
    attempt: Attempt | null = null,
  ): Promise<T> {
    signal.throwIfAborted();
    const line = this.#enter(sandboxId);
    refuseStale(sandboxId, generation, line.newest);
    if (isEarlier(attempt, line.attempt)) throw overtaken(sandboxId);
    line.newest = generation;
    line.attempt = attempt;
    line.last?.abort(overtaken(sandboxId));
    const overtake = new AbortController();
    line.last = overtake;

    line.users++;
    const before = line.tail;
    let leave = () => {};
    const mine = new Promise<void>((resolve) => {
      leave = resolve;
    });
    // Whoever leaves the line early still holds its place in the chain until all before it have ended.
    line.tail = before.then(() => mine);
    const either = AbortSignal.any([signal, overtake.signal]);
    try {
      await orAborted(before, either);
      either.throwIfAborted();
      return await step(either);
    } finally {
      leave();
      line.users--;
      if (line.last === overtake) line.last = null;
      this.#forget();
    }
  }

  /** Ids held in memory: those in use, and at most {@link REMEMBERED_IDS} idle ones. */
  get size(): number {
    return this.#lines.size;
  }

  #enter(sandboxId: string): Line {
    const line = this.#lines.get(sandboxId) ?? {
      newest: 0,
      attempt: null,
      tail: Promise.resolve(),
      last: null,
      users: 0,
    };
    this.#lines.delete(sandboxId);
    this.#lines.set(sandboxId, line);
    return line;
  }

  #forget(): void {
    if (this.#lines.size <= REMEMBERED_IDS) return;
    for (const [sandboxId, line] of this.#lines) {
      if (line.users > 0) continue;
      this.#lines.delete(sandboxId);
      if (this.#lines.size <= REMEMBERED_IDS) return;
    }
  }
}

function refuseStale(sandboxId: string, generation: number, newest: number): void {
  if (generation >= newest) return;
  throw new MayflyError(
    'stale_attempt',
    `This step of ${sandboxId} belongs to generation ${generation}, but generation ${newest} has begun.`,
  );
}

function isEarlier(attempt: Attempt | null, latest: Attempt | null): boolean {
  if (attempt === null || latest === null) return false;
  return attempt.activity === latest.activity && attempt.nth < latest.nth;
}

function overtaken(sandboxId: string): MayflyError {
  return new MayflyError('stale_attempt', `A newer step of ${sandboxId} has overtaken this one.`);
}
