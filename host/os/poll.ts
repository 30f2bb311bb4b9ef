import { pause } from './abort.ts';

interface Polling {
  everyMs: number;
  /** `@default` without end */
  withinMs?: number;
  signal?: AbortSignal;
}

/** Repeats `look` until it returns a value. @returns the value; null after `withinMs` @throws the signal's reason */
export async function poll<T>(look: () => T | Promise<T>, options: Polling): Promise<NonNullable<T> | null> {
  const { everyMs, withinMs = Number.POSITIVE_INFINITY, signal } = options;
  const deadline = Date.now() + withinMs;
  for (;;) {
    signal?.throwIfAborted();
    const found = await look();
    if (found !== null && found !== undefined) return found;
    if (Date.now() >= deadline) return null;
    await pause(everyMs, signal);
  }
}
