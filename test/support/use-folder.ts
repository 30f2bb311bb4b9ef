import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { StateDir } from '../../host/state-dir.ts';

const newPath = () => join(process.env['MAYFLY_TEST_ROOT'] ?? tmpdir(), `mf-${randomBytes(4).toString('hex')}`);
const make = (folder: string) => mkdir(folder, { mode: 0o700 });
const remove = (folder: string) => rm(folder, { recursive: true, force: true, maxRetries: 5 });

/** Makes a folder for the tests of a file, and removes it after them. @returns its path */
export function useFolder(): string {
  const folder = newPath();
  beforeAll(() => make(folder));
  afterAll(() => remove(folder));
  return folder;
}

/** Makes an empty folder for each test of a file, and removes it after the test. @returns its path */
export function useFreshFolder(): string {
  const folder = newPath();
  beforeEach(() => make(folder));
  afterEach(() => remove(folder));
  return folder;
}

/** Makes an empty state folder for each test of a file, and removes it after the test. */
export function useFreshState(): StateDir {
  return new StateDir(useFreshFolder());
}
