import type { CallOptions } from './transport.ts';

export interface Page<T> {
  items: T[];
  nextCursor: string | null;
  /** Records that belong here and cannot be read. Absent: all can. */
  unreadable?: { id: string; problem: string }[];
}

/** A list without pages. */
export type List<T> = Omit<Page<T>, 'nextCursor'>;

export interface PageOptions extends CallOptions {
  limit?: number;
  cursor?: string;
}

/** `waitSeconds`: how long the API may hold its answer back; 0 answers as soon as the request is recorded. */
export interface WaitOptions {
  /** Seconds. `@default` 60 */
  waitSeconds?: number;
}
