import { setTimeout as sleep } from 'node:timers/promises';
import type { Io } from '../terminal/io.ts';

const POLL_MS = 100;

/** Polls until `read` returns an object; a string names what it waits for, and is printed when it changes. */
export async function poll<T extends object>(io: Io, read: () => Promise<T | string>): Promise<T> {
  for (let reason = ''; ; await sleep(POLL_MS, undefined, { signal: io.signal })) {
    const result = await read();
    if (typeof result !== 'string') return result;
    if (result !== reason && result !== '') io.note(`  waits for ${io.paint('dim', result)}`);
    reason = result;
  }
}
