import { createHash } from 'node:crypto';

/** Returns one digest for several files. @param digests SHA-256 of each, hex, in a stable order */
export function contentOf(digests: readonly string[]): string {
  return createHash('sha256').update(digests.join('\n')).digest('hex');
}
