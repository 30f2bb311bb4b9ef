import { z } from '@hono/zod-openapi';
import { BULK_ACTIONS, BULK_STATES } from '../../model/functions/bulk.ts';
import { RUN_OUTCOMES, RUN_STATES } from '../../model/functions/run-state.ts';
import { LIMITS } from '../../model/limits.ts';
import { idOf } from '../../model/request-fields.ts';
import { VERSIONS } from '../../services/runs/replay-run.ts';
import { functionParams } from '../functions/function-schemas.ts';
import { actor, failure, instant } from '../http/schemas.ts';
import { pastInstant } from '../runs/run-schemas.ts';

export const bulkParams = functionParams.extend({
  bulk: idOf('bulk', 'the id of a bulk action'),
});

const filter = z
  .strictObject({
    state: z.enum(RUN_STATES).optional(),
    outcome: z.enum(RUN_OUTCOMES).optional(),
    key: z.string().max(LIMITS.functions.keyBytes).optional(),
    since: pastInstant.optional(),
  })
  .openapi({
    description:
      'Which runs, as in the list of runs. Of a redrive only dead letters, of a cancel only those that have not ended',
  });

export const bulkBody = z
  .strictObject({
    action: z.enum(BULK_ACTIONS),
    version: z.enum(VERSIONS).optional().openapi({
      description: 'Of the function: `same`, unless said otherwise, for a replay; `current` for a redrive',
    }),
    filter: filter.default({}),
  })
  .openapi('StartBulk');

export const bulkAnswer = z
  .object({
    id: z.string(),
    project: z.string(),
    function: z.string(),
    action: z.enum(BULK_ACTIONS),
    version: z.enum(VERSIONS),
    state: z.enum(BULK_STATES).openapi({ description: '`cancelling`: it ends with the runs that it is at' }),
    counts: z
      .object({ done: z.int(), unchanged: z.int(), refused: z.int() })
      .openapi({ description: 'Runs so far. `unchanged`: there was nothing to do' }),
    refusals: z
      .array(z.object({ runId: z.string(), failure }))
      .openapi({ description: `The first ${LIMITS.functions.bulk.refusals} of those that were refused` }),
    createdBy: actor,
    createdAt: instant,
    updatedAt: instant,
    endedAt: instant.nullable(),
  })
  .openapi('BulkAction');
