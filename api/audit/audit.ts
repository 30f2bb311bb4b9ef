import { createRoute, z } from '@hono/zod-openapi';
import { ID_PATTERNS, isAuditSubject, isSandboxName } from '../../model/ids.ts';
import { requires } from '../http/auth.ts';
import type { App } from '../http/context.ts';
import { problems } from '../http/problem-answers.ts';
import { auditQuery, json } from '../http/schemas.ts';
import { requireSandbox } from '../resources/require-sandbox.ts';
import { SANDBOX_REFERENCE, sandboxParams } from '../resources/sandbox-schemas.ts';
import { auditPage, pageOfChain } from './audit-page.ts';

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
