/** Returns null for a failure that `isExpected` names; others are thrown. */
export async function orNull<T>(work: Promise<T>, isExpected: (error: unknown) => boolean): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (isExpected(error)) return null;
    throw error;
  }
}

/** What `look` finds, or null when the file it looks at is not there. */
export function orAbsent<T>(look: Promise<T>): Promise<T | null> {
  return orNull(look, isNotFound);
}

/** Whether a file system call failed because the path is not there (ENOENT). */
export function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

export function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
