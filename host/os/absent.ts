import { isNotFound } from './directory.ts';

/** What `look` finds, or null when the file it looks at is not there. */
export async function orAbsent<T>(look: Promise<T>): Promise<T | null> {
  try {
    return await look;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}
