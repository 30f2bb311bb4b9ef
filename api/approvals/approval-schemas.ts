import { z } from '@hono/zod-openapi';
import { approvalRecord } from '../../model/approvals/approval.ts';
import { LIMITS } from '../../model/limits.ts';
import { idOf, printable } from '../../model/request-fields.ts';
import { cursor, limit, viewOf } from '../http/schemas.ts';
import { policyQuery } from './policy-schemas.ts';

export const approvalParams = z.strictObject({
  id: idOf('approval', 'an approval id'),
});

export const approvalListQuery = policyQuery.extend({ limit, cursor, state: approvalRecord.shape.state.optional() });

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

export const approvalAnswer = approvalRecord.omit({ salt: true }).openapi('Approval');
export const approvalView = viewOf(approvalAnswer);
