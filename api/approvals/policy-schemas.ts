import { z } from '@hono/zod-openapi';
import { policyRecord } from '../../model/approvals/policy.ts';
import { policyRules } from '../../model/approvals/policy-rules.ts';
import { actor, instant } from '../../model/fields.ts';
import { isProjectId, PROJECT_ID_PATTERN } from '../../model/project.ts';

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
