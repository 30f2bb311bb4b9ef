import { createRoute, z } from '@hono/zod-openapi';
import { ID_PATTERNS, isAuditSubject, isSandboxName } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { requires } from '../http/auth.ts';
import type { App, RequestDeps } from '../http/context.ts';
import { problems } from '../http/problem-answers.ts';
import { auditQuery, json } from '../http/schemas.ts';
import { requireSandbox } from '../resources/require-sandbox.ts';
import { SANDBOX_REFERENCE, sandboxParams } from '../resources/sandbox-schemas.ts';

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

const ofSandbox = createRoute({
  method: 'get',
  path: '/v1/sandboxes/{id}/audit',
  tags: ['audit'],
  operationId: 'getSandboxAudit',
  summary: 'What happened to a sandbox',
  middleware: [requires('sandboxes:read')],
  request: { params: sandboxParams, query: auditQuery },
  responses: { 200: json('One page, oldest first', auditPage), ...problems('sandbox_not_found') },
});

/** Also of sandboxes whose record is gone, which is what an auditor asks about. */
const ofAny = createRoute({
  method: 'get',
  path: '/v1/audit',
  tags: ['audit'],
  operationId: 'getAudit',
  summary: 'What happened to a sandbox or a source, whether or not it is recorded',
  middleware: [requires('operator')],
  request: {
    query: auditQuery.extend({
      sandboxId: z
        .string()
        .refine(
          (text) => isAuditSubject(text) || isSandboxName(text),
          'is not the id of a sandbox or a source, nor the name of a sandbox',
        )
        .openapi({
          anyOf: [{ pattern: ID_PATTERNS.source }, ...SANDBOX_REFERENCE],
          example: 'sbx-0123456789abcdef',
        }),
    }),
  },
  responses: { 200: json('One page, oldest first', auditPage), ...problems('sandbox_not_found') },
});

export function auditRoutes(app: App): void {
  app.openapi(ofSandbox, async (c) => {
    const { id } = c.req.valid('param');
    await requireSandbox(c.get('deps'), id);
    return c.json(await pageOfChain(c.get('deps'), id, c.req.valid('query')), 200);
  });
  app.openapi(ofAny, async (c) => {
    const { sandboxId, ...range } = c.req.valid('query');
    return c.json(await pageOfChain(c.get('deps'), sandboxId, range), 200);
  });
}

/** @param range `cursor`: number of the first entry wanted */
export async function pageOfChain(
  { store }: RequestDeps,
  sandboxId: string,
  range: { limit?: number | undefined; cursor?: number | undefined },
) {
  const limit = range.limit ?? LIMITS.page.default;
  const first = range.cursor ?? 0;
  const head = await store.audit.head(sandboxId);
  const items = await store.audit.entries(sandboxId, { after: first - 1, limit });
  const hasMore = first + limit < (head?.count ?? 0);
  return { items, nextCursor: hasMore ? String(first + limit) : null, head };
}
