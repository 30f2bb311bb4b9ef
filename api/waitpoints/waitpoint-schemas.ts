import { z } from '@hono/zod-openapi';
import { ID_PATTERNS } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { whole } from '../../model/request-fields.ts';
import { WAITPOINT_TOKEN_PATTERN } from '../../model/waitpoints/token.ts';
import {
  DEFAULT_WAITPOINT,
  stateOf,
  WAITPOINT_NAME,
  WAITPOINT_STATES,
  type WaitpointRecord,
} from '../../model/waitpoints/waitpoint.ts';
import { actor, instant } from '../http/schemas.ts';

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

export const waitpointAnswer = z
  .object({
    id: z.string().openapi({ pattern: ID_PATTERNS.waitpoint, example: 'wp-0123456789abcdef' }),
    runId: z.string(),
    name: z.string(),
    state: z.enum(WAITPOINT_STATES),
    expiresAt: instant,
    askedAt: instant.nullable().openapi({ description: 'When a process first asked for it; null: none has' }),
    completedAt: instant.nullable(),
    createdBy: actor.nullable().openapi({ description: 'Null: its process made it' }),
    createdAt: instant,
  })
  .openapi('Waitpoint');

export const newToken = waitpointAnswer
  .extend({
    token: z.string().openapi({ pattern: WAITPOINT_TOKEN_PATTERN, description: 'Shown once: only its hash is stored' }),
    path: z.string().openapi({ description: 'Where its data is sent to, with POST and without an API key' }),
  })
  .openapi('WaitpointToken');

export const completedAnswer = z
  .object({ name: z.string(), state: z.enum(WAITPOINT_STATES), completedAt: instant.nullable() })
  .openapi('CompletedWaitpoint');

export function waitpointView(record: WaitpointRecord) {
  return { ...record, state: stateOf(record, Date.now()) };
}
