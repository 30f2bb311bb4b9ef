import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';

/** Makes a folder for the tests of a file, and removes it after them. @returns its path */
export function useFolder(): string {
  const folder = join(tmpdir(), `mf-${randomBytes(4).toString('hex')}`);
  beforeAll(() => mkdir(folder, { mode: 0o700 }));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
