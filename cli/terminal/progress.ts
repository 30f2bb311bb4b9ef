import { setTimeout as sleep } from 'node:timers/promises';
import { patiently } from '../../clients/typescript/http/patient.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Io } from './io.ts';

const EVERY_MS = 1_000;
const POLL_MS = 300;

interface Followed<T> {
  /** Called with each state that is read, the first among them. */
  show: (record: T) => void | Promise<void>;
  isOver: (record: T) => boolean;
  read: (record: T) => Promise<T>;
  signal: AbortSignal;
}

/**
 * Says on a terminal what is under way and for how long, while nothing else is printed.
 * @param doing such as `pausing sbx-…`
 */
export async function withProgress<T>(io: Io, doing: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const show = () => {
    const seconds = Math.round((performance.now() - began) / 1_000);
    io.noteForNow(io.paint('dim', `  ${doing} … ${seconds > 0 ? `${seconds} s` : ''}`));
  };
  show();
  const timer = setInterval(show, EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    io.endNoteForNow();
  }
}

/** Reads a record again and again until it is over. @returns the latest that was read, when the signal ends the wait first */
export async function followRecord<T>(first: T, { show, isOver, read, signal }: Followed<T>): Promise<T> {
  let latest = first;
  try {
    for (;;) {
      await show(latest);
      if (isOver(latest)) return latest;
      await sleep(POLL_MS, undefined, { signal });
      latest = await patiently(() => read(latest), { signal, deadlineSeconds: LIMITS.waitSeconds.max });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return latest;
  }
}
