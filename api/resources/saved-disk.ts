import { z } from '@hono/zod-openapi';
import type { SavedDisk } from '../../model/snapshots/snapshot.ts';

/** A saved disk of a snapshot, a capture or a baked source. */
export const savedDisk = z.object({
  target: z.string(),
  sha256: z.string(),
  virtualBytes: z.int(),
  storedBytes: z.int(),
});

/** A disk as every route answers it, field by field. */
export function diskView({ target, sha256, virtualBytes, storedBytes }: SavedDisk): z.infer<typeof savedDisk> {
  return { target, sha256, virtualBytes, storedBytes };
}
