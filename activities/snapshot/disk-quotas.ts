import type { ApiKey } from '../../model/access/api-key.ts';
import type { Project } from '../../model/project.ts';
import { describeQuotaExcess, type StorageUsage } from '../../model/snapshots/storage.ts';
import type { Store } from '../../store/connect.ts';

type QuotaStore = Pick<Store, 'apiKeys' | 'projects'>;

/** Disk quota that all sandboxes and snapshots of a key, or of a project, share. */
interface SharedQuota {
  /** Holder, as the subject of a sentence. */
  holder: string;
  bytes: number;
  counts: (part: StorageUsage) => boolean;
}

interface DiskQuotas {
  /** Quota of a sandbox and its own snapshots, bytes; null: no limit. */
  ofEach: number | null;
  shared: SharedQuota[];
}

/** @param of key that created the sandbox, or takes its snapshot; project that it counts in. `@default` the key's */
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

/** Returns why a sandbox exceeds its quota, now or with `more` bytes; null: it does not. */
export function excessOfSandbox(
  bytes: number | null,
  sandboxId: string,
  parts: readonly StorageUsage[],
  more = 0,
): string | null {
  return describeQuotaExcess(
    sandboxId,
    bytes,
    parts.filter((part) => part.sandboxId === sandboxId),
    more,
  );
}

/** Returns why a shared quota is exceeded, now or with `more` bytes; null: it is not. */
export function excessOfShared(
  { holder, bytes, counts }: SharedQuota,
  parts: readonly StorageUsage[],
  more = 0,
): string | null {
  return describeQuotaExcess(holder, bytes, parts.filter(counts), more);
}

/** Returns why `more` bytes of a sandbox would exceed one of its quotas; null: none. */
export function excessOfAny(
  { ofEach, shared }: DiskQuotas,
  sandboxId: string,
  parts: readonly StorageUsage[],
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
