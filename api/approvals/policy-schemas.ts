import { z } from '@hono/zod-openapi';
import { isCommandPattern } from '../../model/approvals/command-pattern.ts';
import { APPROVER_ROLES, EFFECTS } from '../../model/approvals/policy.ts';
import { LIMITS } from '../../model/limits.ts';
import { isProjectId, PROJECT_ID_PATTERN } from '../../model/project.ts';
import { actor, instant, whole } from '../http/schemas.ts';

const { approvals: limits } = LIMITS;

const pattern = z
  .string()
  .max(limits.patternLength)
  .refine(isCommandPattern, 'must be 1 to 8 words of printable ASCII, with single blanks between')
  .openapi({ pattern: '^[!-~]+( [!-~]+){0,7}$', example: 'git push' });

const when = z
  .union([
    z.strictObject({ egress: z.literal('internet') }),
    z.strictObject({ memoryMibOver: z.int().min(0).max(LIMITS.memoryMib.max) }),
    z.strictObject({ sandboxesOver: z.int().min(0).max(LIMITS.projectLimits.max) }),
    z.strictObject({ source: z.enum(['capture', 'look']) }),
    z.strictObject({ elevation: z.literal(true) }),
    z.strictObject({ command: pattern }),
  ])
  .openapi({ description: 'One thing about a request; docs/approvals.md says which requests each is about' });

const rule = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,62})$/, 'must be 1 to 63 of a-z 0-9 -, the first no dash'),
    when,
    effect: z.enum(EFFECTS),
    role: z.enum(APPROVER_ROLES).default('approvals:decide'),
    expiresSeconds: whole(limits.expiresSeconds, 'seconds').default(limits.expiresSeconds.default),
  })
  .openapi('PolicyRule');

/** As they are set, and as they are read again. */
export const policyRules = z
  .array(rule)
  .max(limits.rules)
  .refine((rules) => new Set(rules.map(({ name }) => name)).size === rules.length, 'must have different names');

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

export const policyAnswer = z
  .object({
    project: z.string(),
    version: z.int().openapi({ description: '0: none was ever set' }),
    rules: z.array(rule),
    isReadable: z.boolean().openapi({ description: 'One that cannot be read denies whatever a rule could be about' }),
    createdBy: actor.nullable(),
    createdAt: instant.nullable(),
  })
  .openapi('Policy');
