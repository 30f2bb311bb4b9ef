import { MayflyError } from '../../model/errors.ts';

/** Whom to ask does not answer, or is in use: that is an answer of its own. */
const ABSENT: readonly string[] = ['host_unavailable', 'store_unavailable'];

export async function orWhyNot<T>(attempt: Promise<T>): Promise<{ result: T } | { why: string }> {
  try {
    return { result: await attempt };
  } catch (error) {
    const away = error instanceof MayflyError && ABSENT.includes(error.code);
    if (away) return { why: error.message };
    throw error;
  }
}
