import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import { orAbsent } from './absent.ts';
import { writeFileAtomic } from './atomic-file.ts';

/** Reads the file of {@link writeJson}; null when it is missing. @throws SyntaxError, ZodError when it is damaged */
export async function readJson<T>(path: string, shape: z.ZodType<T>): Promise<T | null> {
  const text = await orAbsent(readFile(path, 'utf8'));
  return text === null ? null : shape.parse(JSON.parse(text));
}

/** Writes a document of one line, see {@link writeFileAtomic}. */
export async function writeJson(path: string, content: unknown, mode = 0o600): Promise<void> {
  await writeFileAtomic(path, `${JSON.stringify(content)}\n`, mode);
}
