import { createRoute, z } from '@hono/zod-openapi';
import { SCOPES } from '../../model/scopes.ts';
import { type StoredPart, sumOf } from '../../model/snapshots/storage.ts';
import { requires } from '../http/auth.ts';
import type { App } from '../http/context.ts';
import { problems } from '../http/problem-answers.ts';
import { instant, json, noQuery } from '../http/schemas.ts';
import { requireSandbox } from '../resources/require-sandbox.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';

const tags = ['storage'];
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

const ofSandbox = createRoute({
  method: 'get',
  path: '/v1/sandboxes/{id}/usage',
  tags,
  middleware: [requires('sandboxes:read')],
  operationId: 'getSandboxUsage',
  summary: 'What a sandbox and its snapshots take of the disk of their host',
  request: { params: sandboxParams, query: noQuery },
  responses: { 200: json('What is stored', sandboxUsage), ...problems('sandbox_not_found') },
});

const ofKey = createRoute({
  method: 'get',
  path: '/v1/usage',
  tags,
  operationId: 'getUsage',
  summary: 'What the key that asks may do, and what its sandboxes and snapshots take of disks',
  description: 'For every key, whatever its scopes: it is told of itself alone.',
  request: { query: noQuery },
  responses: { 200: json('What is stored', keyUsage), ...problems() },
});

export function usageRoutes(app: App): void {
  app.openapi(ofSandbox, async (c) => {
    const { id, createdBy } = await requireSandbox(c.get('deps'), c.req.valid('param').id);
    const [parts, key] = await Promise.all([
      c.get('deps').store.storedParts(),
      c.get('deps').store.apiKeys.get(createdBy.apiKeyId),
    ]);
    const { usedBytes, workspaceBytes, snapshotBytes, workspaces, snapshots } = split(
      parts.filter(({ sandboxId }) => sandboxId === id),
    );
    const [workspace] = workspaces;
    const measuredAt = workspace?.measuredAt ?? null;
    const quotaBytes = key?.sandboxDiskBytes ?? null;
    const answer = { sandboxId: id, usedBytes, quotaBytes, workspaceBytes, measuredAt, snapshotBytes };
    return c.json({ ...answer, snapshots: snapshots.length }, 200);
  });
  app.openapi(ofKey, async (c) => {
    const { id, scopes, diskBytes, sandboxDiskBytes } = c.get('apiKey');
    const own = (await c.get('deps').store.storedParts()).filter(({ apiKeyId }) => apiKeyId === id);
    const { usedBytes, workspaceBytes, snapshotBytes, workspaces, snapshots } = split(own);
    const quotas = { quotaBytes: diskBytes, sandboxQuotaBytes: sandboxDiskBytes };
    const counts = { sandboxes: workspaces.length, snapshots: snapshots.length };
    return c.json({ apiKeyId: id, scopes, usedBytes, ...quotas, workspaceBytes, snapshotBytes, ...counts }, 200);
  });
}

function split(parts: StoredPart[]) {
  const workspaces = parts.filter(({ kind }) => kind === 'workspace');
  const snapshots = parts.filter(({ kind }) => kind === 'snapshot');
  const [workspaceBytes, snapshotBytes] = [sumOf(workspaces), sumOf(snapshots)];
  return { usedBytes: workspaceBytes + snapshotBytes, workspaceBytes, snapshotBytes, workspaces, snapshots };
}
