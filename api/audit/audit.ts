import { z } from '@hono/zod-openapi';
import { ID_PATTERNS, isAuditSubject, isSandboxName } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { requireSandbox } from '../../services/service-deps.ts';
import type { RequestDeps } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { sandboxIdOf } from '../http/sandbox-reference.ts';
import { auditQuery, json } from '../http/schemas.ts';
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

const route = routeOf('audit');

export const auditRoutes: Route[] = [
  route('getSandboxAudit', 'get', '/v1/sandboxes/{id}/audit', {
    scope: 'sandboxes:read',
    summary: 'What happened to a sandbox',
    in: { params: sandboxParams, query: auditQuery },
    out: { 200: json('One page, oldest first', auditPage) },
    problems: ['sandbox_not_found'],
    handle: async ({ deps, params: { id }, query }) => {
      await requireSandbox(deps, id);
      return pageOfChain(deps, id, query);
    },
  }),
  route('getAudit', 'get', '/v1/audit', {
    scope: 'operator',
    summary: 'What happened to a sandbox or a source, whether or not it is recorded',
    in: {
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
    out: { 200: json('One page, oldest first', auditPage) },
    problems: ['sandbox_not_found'],
    handle: async ({ deps, store, query: { sandboxId, ...range } }) =>
      pageOfChain(deps, await sandboxIdOf(store, sandboxId), range),
  }),
];
