import { HANGS_AFTER_MS } from './test-timeouts.ts';

const POLL_INTERVAL_MS = 50;

/**
 * Polls what notifies nobody, and returns the first value that meets the wish. Unlike `expect.poll` it works in tests that
 * run side by side.
 * @throws Error with the last value, when that takes so long that it hangs
 */
export async function eventually<T, Wished extends T>(
  look: () => T | Promise<T>,
  wish: (seen: T) => seen is Wished,
  hangsAfterMs?: number,
): Promise<Wished>;
export async function eventually<T>(
  look: () => T | Promise<T>,
  wish: (seen: T) => boolean,
  hangsAfterMs?: number,
): Promise<T>;
export async function eventually<T>(
  look: () => T | Promise<T>,
  wish: (seen: T) => boolean,
  hangsAfterMs = HANGS_AFTER_MS,
): Promise<T> {
  const deadline = Date.now() + hangsAfterMs;
  for (;;) {
    const seen = await look();
    if (wish(seen)) return seen;
    if (Date.now() > deadline) throw new Error(`it never came so far: ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}

/** As many equal values in a row are the last one. */
const STABLE_POLLS = 20;

/** Polls until the value has stopped changing, and returns it. */
export async function stableValue<T>(look: () => T | Promise<T>): Promise<T> {
  let polls = 0;
  let last: T = await look();
  return eventually(look, (seen) => {
    polls = seen === last ? polls + 1 : 0;
    last = seen;
    return polls >= STABLE_POLLS;
  });
}
