import { z } from '@hono/zod-openapi';
import { SCOPES } from '../../model/scopes.ts';
import { type StorageUsage, sumBytes } from '../../model/snapshots/storage.ts';
import { requireSandbox } from '../../services/service-deps.ts';
import { type Route, routeOf } from '../http/route.ts';
import { instant, json } from '../http/schemas.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';

const route = routeOf('storage');
const limitOf = z.number().nullable().openapi({ description: 'Bytes; null: no limit' });

const sandboxUsage = z
  .object({
    sandboxId: z.string(),
    usedBytes: z.number(),
    quotaBytes: limitOf,
    workspaceBytes: z.number(),
    measuredAt: instant
      .nullable()
      .openapi({ description: 'When its host measured the workspace; null: not yet, or there is none any more' }),
    snapshotBytes: z.number().openapi({ description: 'As saved; deleted ones do not count' }),
    snapshots: z.int(),
  })
  .openapi('SandboxUsage');

const keyUsage = z
  .object({
    apiKeyId: z.string(),
    scopes: z.array(z.enum(SCOPES)).openapi({ description: 'What the key that asks may do' }),
    usedBytes: z.number(),
    quotaBytes: limitOf,
    sandboxQuotaBytes: limitOf,
    workspaceBytes: z.number(),
    sandboxes: z.int(),
    snapshotBytes: z.number(),
    snapshots: z.int(),
  })
  .openapi('KeyUsage');

export const usageRoutes: Route[] = [
  route('getSandboxUsage', 'get', '/v1/sandboxes/{id}/usage', {
    scope: 'sandboxes:read',
    summary: 'What a sandbox and its snapshots take of the disk of their host',
    in: { params: sandboxParams },
    out: { 200: json('What is stored', sandboxUsage) },
    problems: ['sandbox_not_found'],
    handle: async ({ deps, store, params }) => {
      const { id, createdBy } = await requireSandbox(deps, params.id);
      const [parts, key] = await Promise.all([store.storedParts(), store.apiKeys.get(createdBy.apiKeyId)]);
      const { usedBytes, workspaceBytes, snapshotBytes, workspaces, snapshots } = split(
        parts.filter(({ sandboxId }) => sandboxId === id),
      );
      const [workspace] = workspaces;
      const measuredAt = workspace?.measuredAt ?? null;
      const quotaBytes = key?.sandboxDiskBytes ?? null;
      const answer = { sandboxId: id, usedBytes, quotaBytes, workspaceBytes, measuredAt, snapshotBytes };
      return { ...answer, snapshots: snapshots.length };
    },
  }),
  route('getUsage', 'get', '/v1/usage', {
    scope: null,
    summary: 'What the key that asks may do, and what its sandboxes and snapshots take of disks',
    description: 'For every key, whatever its scopes: it is told of itself alone.',
    out: { 200: json('What is stored', keyUsage) },
    handle: async ({ c, store }) => {
      const { id, scopes, diskBytes, sandboxDiskBytes } = c.get('apiKey');
      const own = (await store.storedParts()).filter(({ apiKeyId }) => apiKeyId === id);
      const { usedBytes, workspaceBytes, snapshotBytes, workspaces, snapshots } = split(own);
      const quotas = { quotaBytes: diskBytes, sandboxQuotaBytes: sandboxDiskBytes };
      const counts = { sandboxes: workspaces.length, snapshots: snapshots.length };
      return { apiKeyId: id, scopes, usedBytes, ...quotas, workspaceBytes, snapshotBytes, ...counts };
    },
  }),
];

function split(parts: StorageUsage[]) {
  const workspaces = parts.filter(({ kind }) => kind === 'workspace');
  const snapshots = parts.filter(({ kind }) => kind === 'snapshot');
  const [workspaceBytes, snapshotBytes] = [sumBytes(workspaces), sumBytes(snapshots)];
  return { usedBytes: workspaceBytes + snapshotBytes, workspaceBytes, snapshotBytes, workspaces, snapshots };
}
