import { HANGS_AFTER_MS } from './test-timeouts.ts';

const POLL_INTERVAL_MS = 50;

/** Expected value: some fields of an object, a pattern of a text, or the value itself. */
type Pattern<T> = T extends string
  ? T | RegExp
  : T extends readonly (infer Item)[]
    ? { length?: number; [index: number]: Pattern<Item> }
    : T extends object
      ? { [Field in keyof T]?: Pattern<T[Field]> }
      : T;

function meets(seen: unknown, wish: unknown): boolean {
  if (typeof wish === 'function') return Boolean(wish(seen));
  if (wish instanceof RegExp) return wish.test(String(seen));
  if (typeof wish !== 'object' || wish === null) return seen === wish;
  const fields = Object(seen) as Record<string, unknown>;
  return Object.entries(wish).every(([field, wished]) => meets(fields[field], wished));
}

/**
 * Polls, and returns the first matching value; unlike `expect.poll`, also in concurrent tests.
 * @throws Error with the last value after the timeout
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
export async function eventually<T, Wish extends Pattern<T>>(look: () => T | Promise<T>, wish: Wish): Promise<T>;
export async function eventually<T>(
  look: () => T | Promise<T>,
  wish: unknown,
  hangsAfterMs = HANGS_AFTER_MS,
): Promise<T> {
  const deadline = Date.now() + hangsAfterMs;
  for (;;) {
    const seen = await look();
    if (meets(seen, wish)) return seen;
    if (Date.now() > deadline) throw new Error(`it never came so far: ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}

/** Number of equal consecutive values that count as final. */
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
