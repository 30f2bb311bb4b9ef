import { HANGS_AFTER_MS } from './test-timeouts.ts';

const LOOK_MS = 50;

/**
 * What is looked at, as soon as it is as wished, for what notifies nobody. Unlike `expect.poll` it can be used by tests that
 * run side by side.
 * @throws Error with what was seen last
 */
export async function eventually<T, Wished extends T>(
  look: () => Promise<T>,
  wish: (seen: T) => seen is Wished,
): Promise<Wished>;
export async function eventually<T>(look: () => Promise<T>, wish: (seen: T) => boolean): Promise<T>;
export async function eventually<T>(look: () => Promise<T>, wish: (seen: T) => boolean): Promise<T> {
  const deadline = Date.now() + HANGS_AFTER_MS;
  for (;;) {
    const seen = await look();
    if (wish(seen)) return seen;
    if (Date.now() > deadline) throw new Error(`it never came so far: ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
