import type { GuestName } from '../../model/file-change.ts';

/** What a guest calls it. */
export function bytesOf(name: GuestName): Buffer {
  return typeof name === 'string' ? Buffer.from(name, 'utf8') : Buffer.from(name.base64, 'base64');
}
