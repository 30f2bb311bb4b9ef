import { z } from '@hono/zod-openapi';
import { functionName } from '../../model/functions/deploy-request.ts';
import { functionRecord, functionSpec, functionVersion } from '../../model/functions/function.ts';
import { setupRecord } from '../../model/functions/setup/setup.ts';
import { ON_FAILURE } from '../../model/functions/traces.ts';
import { waitSpec } from '../../model/waitpoints/waiting.ts';
import { intParam } from '../http/schemas.ts';

export const functionParams = z.strictObject({ name: functionName });
export const versionParams = functionParams.extend({
  version: intParam(1, 9_999_999),
});
export const deleteQuery = z.strictObject({
  drain: z.enum(['true', 'false']).optional().openapi({ description: 'Delete it when its runs have ended' }),
});

const specAnswer = functionSpec.omit({ env: true }).extend({
  envNames: z.array(z.string()).openapi({ description: 'What is in them is not told' }),
  keep: z.object({ onFailure: z.enum(ON_FAILURE), days: z.int() }),
  diff: z.boolean(),
  wait: waitSpec,
});

export const versionAnswer = functionVersion
  .omit({ project: true })
  .extend({
    isActive: z.boolean(),
    spec: specAnswer,
    setup: setupRecord
      .pick({ state: true, snapshotKind: true, failure: true, log: true, waitingFor: true })
      .optional()
      .openapi({ description: 'How far its setup is; absent: it has none' }),
    warnings: z
      .array(z.string())
      .optional()
      .openapi({ description: 'Of its secrets, where it is deployed: those that are not masked in what it prints' }),
  })
  .openapi('FunctionVersion');

export const functionAnswer = functionRecord.omit({ fullUntil: true }).openapi('Function');
