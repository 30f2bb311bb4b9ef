import { z } from '@hono/zod-openapi';
import { approvalRecord } from '../../model/approvals/approval.ts';
import { policyRecord } from '../../model/approvals/policy.ts';
import { policyRules } from '../../model/approvals/policy-rules.ts';
import { actor, instant } from '../../model/fields.ts';
import { LIMITS } from '../../model/limits.ts';
import { isProjectId, PROJECT_ID_PATTERN } from '../../model/project.ts';
import { idSchema, printable } from '../../model/request-fields.ts';
import { cursor, limit, viewOf } from '../http/schemas.ts';

export const setPolicy = z.strictObject({ rules: policyRules }).openapi('SetPolicy');

export const policyQuery = z.strictObject({
  project: z
    .string()
    .refine(isProjectId, 'is not the id of a project')
    .openapi({ pattern: PROJECT_ID_PATTERN, description: 'Another than the own one, for operators' })
    .optional(),
});

export const policyHeaders = z.object({
  'if-match': z
    .string()
    .regex(/^(?:\*|"\d{1,9}")$/, 'must be * or one ETag of a policy')
    .optional()
    .openapi({ example: '"3"' }),
});

export const policyAnswer = policyRecord
  .extend({
    version: z.int().openapi({ description: '0: none was ever set' }),
    isReadable: z.boolean().openapi({ description: 'One that cannot be read denies whatever a rule could be about' }),
    createdBy: actor.nullable(),
    createdAt: instant.nullable(),
  })
  .openapi('Policy');

export const approvalParams = z.strictObject({
  id: idSchema('approval', 'an approval id'),
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
