import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import type { RequestDeps } from '../http/context.ts';

export const auditPage = z
  .object({
    items: z.array(
      z.object({
        sandboxId: z.string(),
        seq: z.int(),
        body: z.string(),
        hash: z.string(),
        previousHash: z.string(),
      }),
    ),
    nextCursor: z.string().nullable(),
    head: z.object({ count: z.int(), hash: z.string(), mac: z.string() }).nullable(),
  })
  .openapi('AuditPage', {
    description: 'Oldest first. Who copies `head` to another place can later prove that the chain was not cut.',
  });

export async function pageOfChain(
  { store }: RequestDeps,
  sandboxId: string,
  range: { limit?: number | undefined; cursor?: string | undefined },
) {
  const limit = range.limit ?? LIMITS.page.default;
  const first = Number(range.cursor ?? 0);
  const head = await store.audit.head(sandboxId);
  const items = await store.audit.entries(sandboxId, { after: first - 1, limit });
  const hasMore = first + limit < (head?.count ?? 0);
  return { items, nextCursor: hasMore ? String(first + limit) : null, head };
}
