/** Returns null for a failure that `isExpected` names; others are thrown. */
export async function nullIf<T>(work: Promise<T>, isExpected: (error: unknown) => boolean): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (isExpected(error)) return null;
    throw error;
  }
}

/** Returns the result of `look`, or null when its file is missing. */
export function orAbsent<T>(look: Promise<T>): Promise<T | null> {
  return nullIf(look, isNotFound);
}

/** Reports whether a file system call failed because the path is missing (ENOENT). */
export function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

export function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
