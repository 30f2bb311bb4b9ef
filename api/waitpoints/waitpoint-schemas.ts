import { z } from '@hono/zod-openapi';
import { ID_PATTERNS } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { whole } from '../../model/request-fields.ts';
import { WAITPOINT_TOKEN_PATTERN } from '../../model/waitpoints/token.ts';
import {
  DEFAULT_WAITPOINT,
  stateOf,
  WAITPOINT_NAME,
  type WaitpointRecord,
  waitpointRecord,
} from '../../model/waitpoints/waitpoint.ts';

const { timeoutSeconds } = LIMITS.functions.waitpoints;

export const createWaitpoint = z
  .strictObject({
    name: z
      .string()
      .regex(WAITPOINT_NAME, 'is not of a-z, 0-9 and -, of 63 characters at most, a letter first')
      .default(DEFAULT_WAITPOINT)
      .openapi({ description: 'By which the process of the run waits for it', example: 'approval' }),
    timeoutSeconds: whole(timeoutSeconds, 'seconds')
      .optional()
      .openapi({
        description: `From now on. Of one that is there it is set anew. ${timeoutSeconds.default} when it is made and nothing is said`,
      }),
  })
  .openapi('CreateWaitpoint');

export const completeWaitpoint = z
  .strictObject({
    data: z
      .unknown()
      .refine((data) => data !== undefined, 'is missing')
      .openapi({ description: 'Any JSON, which the process is given', example: { approved: true } }),
  })
  .openapi('CompleteWaitpoint');

export const tokenParams = z.strictObject({
  token: z.string().openapi({
    pattern: WAITPOINT_TOKEN_PATTERN,
    example: `mfw_0123456789abcdef_${'x'.repeat(43)}`,
  }),
});

export const waitpointAnswer = waitpointRecord
  .omit({ project: true, tokens: true, data: true })
  .extend({ id: z.string().openapi({ pattern: ID_PATTERNS.waitpoint, example: 'wp-0123456789abcdef' }) })
  .openapi('Waitpoint');

export const newToken = waitpointAnswer
  .extend({
    token: z.string().openapi({ pattern: WAITPOINT_TOKEN_PATTERN, description: 'Shown once: only its hash is stored' }),
    path: z.string().openapi({ description: 'Where its data is sent to, with POST and without an API key' }),
  })
  .openapi('WaitpointToken');

export const completedAnswer = waitpointRecord
  .pick({ name: true, state: true, completedAt: true })
  .openapi('CompletedWaitpoint');

export function waitpointView(record: WaitpointRecord) {
  return { ...record, state: stateOf(record, Date.now()) };
}
