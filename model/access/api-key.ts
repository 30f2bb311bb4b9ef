import type { Scope } from '../scopes.ts';
import type { StorageQuota } from '../snapshots/storage.ts';

/** An API key as it may be shown; its secret is shown once, when it is created, and never stored. */
export interface ApiKey extends StorageQuota {
  id: string;
  project: string;
  name: string;
  scopes: Scope[];
  createdAt: string;
  revokedAt: string | null;
}
