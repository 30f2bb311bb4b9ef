import { z } from 'zod';
import { instant } from '../fields.ts';
import { SCOPES } from '../scopes.ts';
import { storageQuota } from '../snapshots/storage.ts';

/** API key for display; its secret is shown once, at creation, and never stored. */
export const apiKey = z.object({
  id: z.string(),
  project: z.string(),
  name: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  createdAt: instant,
  revokedAt: instant.nullable(),
  ...storageQuota.shape,
});
export type ApiKey = z.infer<typeof apiKey>;
