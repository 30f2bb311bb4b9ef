import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { isProjectId, PROJECT_ID_PATTERN } from '../../model/project.ts';
import { printable } from '../../model/request-fields.ts';
import { SCOPES } from '../../model/scopes.ts';

const quotaBytes = z
  .number()
  .int()
  .min(LIMITS.quotaBytes.min)
  .max(LIMITS.quotaBytes.max)
  .nullable()
  .openapi({ description: 'Bytes; null: no limit' });
const quotaFields = { diskBytes: quotaBytes.optional(), sandboxDiskBytes: quotaBytes.optional() };

export const createKey = z
  .strictObject({
    name: printable(128),
    project: z
      .string()
      .refine(isProjectId, 'is not a project id')
      .optional()
      .openapi({ pattern: PROJECT_ID_PATTERN, description: 'Only operators name another than their own' }),
    scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length),
    ...quotaFields,
  })
  .openapi('CreateKey');

export const limitKey = z
  .strictObject(quotaFields)
  .refine((quota) => Object.keys(quota).length > 0, { message: 'must change something' })
  .openapi('LimitKey', { minProperties: 1 });
