import { MayflyError } from '../model/errors.ts';

/** Idle ids whose newest generation is remembered; the longest unused are forgotten first. */
const REMEMBERED_IDS = 10_000;

interface Line {
  /** Highest generation that ever asked for this id. */
  newest: number;
  /** Ends when the last step in line has ended. */
  tail: Promise<void>;
  /** Steps that run or wait. */
  users: number;
}

/**
 * Runs the steps of one sandbox one after another, in the order in which they came, and steps of different
 * sandboxes side by side. It is a fence too: once a generation was seen, steps of an older one are refused, also
 * those already in line, so an attempt that Temporal has given up cannot undo what its successor did.
 */
export class KeyedMutex {
  readonly #lines = new Map<string, Line>();

  /**
   * @param generation from the workflow; grows with every decision that overtakes earlier steps
   * @param signal leaves the line when aborted; a step that already runs must watch it itself
   * @throws MayflyError stale_attempt; the signal's reason when aborted before its turn
   */
  async run<T>(sandboxId: string, generation: number, signal: AbortSignal, step: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const line = this.#enter(sandboxId);
    refuseStale(sandboxId, generation, line.newest);
    line.newest = Math.max(line.newest, generation);

    line.users++;
    const before = line.tail;
    let leave = () => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    // Whoever leaves the line early still holds its place in the chain until all before it have ended.
    line.tail = before.then(() => left);
    try {
      await turnOrAbort(before, signal);
      refuseStale(sandboxId, generation, line.newest);
      return await step();
    } finally {
      leave();
      line.users--;
      this.#forget();
    }
  }

  /** Ids held in memory: those in use, and at most {@link REMEMBERED_IDS} idle ones. */
  get size(): number {
    return this.#lines.size;
  }

  #enter(sandboxId: string): Line {
    const line = this.#lines.get(sandboxId) ?? { newest: 0, tail: Promise.resolve(), users: 0 };
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

async function turnOrAbort(turn: Promise<void>, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    void turn.then(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
  });
  signal.throwIfAborted();
}
