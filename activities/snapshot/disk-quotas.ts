import type { ApiKey } from '../../model/access/api-key.ts';
import type { Project } from '../../model/project.ts';
import { excessOf, type StoredPart } from '../../model/snapshots/storage.ts';
import type { Store } from '../../store/connect.ts';

type QuotaStore = Pick<Store, 'apiKeys' | 'projects'>;

/** How much all sandboxes and snapshots of a key, or of a project, may take of disks. */
interface SharedQuota {
  /** Subject of a sentence. */
  holder: string;
  bytes: number;
  counts: (part: StoredPart) => boolean;
}

interface DiskQuotas {
  /** Of the sandbox with its own snapshots, bytes; null: no limit. */
  ofEach: number | null;
  shared: SharedQuota[];
}

/** @param of the key that made it, or takes a snapshot of it; the project that it counts in. `@default` the key's */
export async function diskQuotas(
  { apiKeys, projects }: QuotaStore,
  { apiKeyId, project }: { apiKeyId: string; project?: string },
): Promise<DiskQuotas> {
  const [key, known] = await Promise.all([apiKeys.get(apiKeyId), projects.known()]);
  const shared = [key && quotaOfKey(key), quotaOfProject(known.get(project ?? key?.project ?? ''))];
  return { ofEach: key?.sandboxDiskBytes ?? null, shared: shared.filter((one) => one !== null) };
}

export async function everyQuota({
  apiKeys,
  projects,
}: QuotaStore): Promise<{ keys: ApiKey[]; shared: SharedQuota[] }> {
  const [keys, known] = await Promise.all([apiKeys.limited(), projects.known()]);
  const shared = [...keys.map(quotaOfKey), ...[...known.values()].map(quotaOfProject)];
  return { keys, shared: shared.filter((one) => one !== null) };
}

export function isUnlimited({ ofEach, shared }: DiskQuotas): boolean {
  return ofEach === null && shared.length === 0;
}

/** Why one sandbox may not store what it does, or would with `more` bytes; null: it may. */
export function excessOfSandbox(
  bytes: number | null,
  sandboxId: string,
  parts: readonly StoredPart[],
  more = 0,
): string | null {
  return excessOf(
    sandboxId,
    bytes,
    parts.filter((part) => part.sandboxId === sandboxId),
    more,
  );
}

/** Why all of a quota may not store what they do, or would with `more` bytes; null: they may. */
export function excessOfShared(
  { holder, bytes, counts }: SharedQuota,
  parts: readonly StoredPart[],
  more = 0,
): string | null {
  return excessOf(holder, bytes, parts.filter(counts), more);
}

/** Why one sandbox may not take so much more, by any of its quotas. */
export function excessOfAny(
  { ofEach, shared }: DiskQuotas,
  sandboxId: string,
  parts: readonly StoredPart[],
  more: number,
): string | null {
  const own = excessOfSandbox(ofEach, sandboxId, parts, more);
  return own ?? shared.map((quota) => excessOfShared(quota, parts, more)).find((excess) => excess !== null) ?? null;
}

function quotaOfKey({ id, diskBytes }: ApiKey): SharedQuota | null {
  if (diskBytes === null) return null;
  return { holder: `The API key ${id}`, bytes: diskBytes, counts: ({ apiKeyId }) => apiKeyId === id };
}

function quotaOfProject(project: Project | undefined): SharedQuota | null {
  const bytes = project?.limits.diskBytes ?? null;
  if (!project || bytes === null) return null;
  return { holder: `The project ${project.id}`, bytes, counts: (part) => part.project === project.id };
}
