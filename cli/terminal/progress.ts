import type { Io } from './io.ts';

const EVERY_MS = 1_000;

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
