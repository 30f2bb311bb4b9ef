import { MayflyError } from '../../model/errors.ts';
import { raceAbort } from './abort.ts';

/** Limit of idle ids whose newest generation is remembered; LRU eviction. */
const REMEMBERED_IDS = 10_000;

/** Activity and attempt number of a step that Temporal retries. */
export interface Attempt {
  activity: string;
  /** From 1. */
  nth: number;
}

interface Queue {
  /** Highest generation seen for this id. */
  newest: number;
  /** Latest attempt; null: the last step was none of an activity. */
  attempt: Attempt | null;
  /** Resolves when the last queued step has ended. */
  tail: Promise<void>;
  last: AbortController | null;
  users: number;
}

/**
 * Runs the steps of one sandbox one after another, and steps of different sandboxes side by side.
 *
 * A saga requests one step of a sandbox at a time, so a second request means that Temporal has given the first up (its
 * time ran out, it was cancelled, its worker was thought dead): the new step overtakes. The earlier step's signal is
 * aborted with `stale_attempt`, and the new step begins when the earlier one has really ended. It is a fence too: after
 * a generation was seen, steps of older ones are refused, so nothing that a cleanup removed is made again. A stale
 * attempt that arrives late, from a stalled worker, overtakes no later one of the same activity.
 */
export class KeyedMutex {
  readonly #lines = new Map<string, Queue>();

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
    assertNotStale(sandboxId, generation, line.newest);
    if (isEarlier(attempt, line.attempt)) throw staleAttempt(sandboxId);
    line.newest = generation;
    line.attempt = attempt;
    line.last?.abort(staleAttempt(sandboxId));
    const overtake = new AbortController();
    line.last = overtake;

    line.users++;
    const before = line.tail;
    let leave = () => {};
    const mine = new Promise<void>((resolve) => {
      leave = resolve;
    });
    // A step that leaves early still holds its position until all steps before it have ended.
    line.tail = before.then(() => mine);
    const either = AbortSignal.any([signal, overtake.signal]);
    try {
      await raceAbort(before, either);
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

  #enter(sandboxId: string): Queue {
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

function assertNotStale(sandboxId: string, generation: number, newest: number): void {
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

function staleAttempt(sandboxId: string): MayflyError {
  return new MayflyError('stale_attempt', `A newer step of ${sandboxId} has overtaken this one.`);
}
