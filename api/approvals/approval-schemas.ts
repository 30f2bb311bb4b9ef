import { z } from '@hono/zod-openapi';
import { APPROVAL_ACTIONS, APPROVAL_STATES } from '../../model/approvals/approval.ts';
import { APPROVER_ROLES } from '../../model/approvals/policy-rules.ts';
import { LIMITS } from '../../model/limits.ts';
import { idOf, printable } from '../../model/request-fields.ts';
import { actor, cursor, instant, limit, viewOf } from '../http/schemas.ts';
import { policyQuery } from './policy-schemas.ts';

export const approvalParams = z.strictObject({
  id: idOf('approval', 'an approval id'),
});

export const approvalListQuery = policyQuery.extend({ limit, cursor, state: z.enum(APPROVAL_STATES).optional() });

export const decideApproval = z
  .strictObject({
    digest: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be the digest of an approval')
      .openapi({ description: 'Of what was shown' }),
    reason: printable(LIMITS.approvals.reasonLength).optional(),
    agentId: printable(LIMITS.agentId.maxLength)
      .optional()
      .openapi({ description: 'Who decides, where that is an agent; the one that asks may not' }),
  })
  .openapi('DecideApproval');

export const approvalAnswer = z
  .object({
    id: z.string(),
    project: z.string(),
    state: z.enum(APPROVAL_STATES),
    action: z.enum(APPROVAL_ACTIONS),
    request: z
      .record(z.string(), z.unknown())
      .openapi({ description: 'With its defaults filled in. Texts of callers, of any characters: escape them' }),
    digest: z.string().openapi({ description: 'Salted digest of all that decides what is done, and of who asks' }),
    rules: z.array(z.string()),
    policyVersion: z.int(),
    role: z.enum(APPROVER_ROLES),
    askedBy: actor,
    askedAt: instant,
    expiresAt: instant,
    decidedBy: actor.nullable(),
    decidedAt: instant.nullable(),
    reason: z.string().nullable(),
    usedAt: instant.nullable(),
    usedFor: z.string().nullable().openapi({ description: 'The id of what the request that used it makes' }),
  })
  .openapi('Approval');

export const approvalView = viewOf(approvalAnswer);
