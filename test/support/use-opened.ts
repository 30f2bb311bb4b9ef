import { afterAll, beforeAll } from 'vitest';

/**
 * Opens something before the tests of a file, and closes it after them. @returns accessor. @throws Error before that
 */
export function useOpened<T>(open: () => Promise<T>, close: (opened: T) => unknown): () => T {
  let opened: { it: T } | undefined;
  beforeAll(async () => {
    opened = { it: await open() };
  });
  afterAll(async () => {
    if (opened) await close(opened.it);
  });
  return () => {
    if (!opened) throw new Error('nothing has been opened yet');
    return opened.it;
  };
}
