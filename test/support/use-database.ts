import mongoose from 'mongoose';
import type { TestMayfly } from './mayfly.ts';
import { useOpened } from './use-opened.ts';

/**
 * Opens the database of a {@link TestMayfly} directly, without its repositories, for the tests of a file. @returns its
 * collections by name
 */
export function useDatabase(mayfly: () => TestMayfly) {
  const database = useOpened(
    () => mongoose.createConnection(mayfly().config.mongodbUri ?? '').asPromise(),
    (opened) => opened.close(),
  );
  return (name: string) => database().collection<Record<string, unknown> & { _id: string }>(name);
}
