import { z } from '@hono/zod-openapi';

/** A saved disk of a snapshot, a capture or a baked source. */
export const savedDisk = z.object({
  target: z.string(),
  sha256: z.string(),
  virtualBytes: z.int(),
  storedBytes: z.int(),
});
