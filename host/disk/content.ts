import { createHash } from 'node:crypto';

/** One name for what several files hold. @param digests SHA-256 of each, hex, in an order that is always the same */
export function contentOf(digests: readonly string[]): string {
  return createHash('sha256').update(digests.join('\n')).digest('hex');
}
