import { z } from '@hono/zod-openapi';
import { bulkRecord } from '../../model/functions/bulk.ts';
import { RUN_OUTCOMES, RUN_STATES } from '../../model/functions/run-state.ts';
import { LIMITS } from '../../model/limits.ts';
import { idOf } from '../../model/request-fields.ts';
import { VERSIONS } from '../../services/runs/replay-run.ts';
import { functionParams } from '../functions/function-schemas.ts';
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
    action: bulkRecord.shape.action,
    version: z.enum(VERSIONS).optional().openapi({
      description: 'Of the function: `same`, unless said otherwise, for a replay; `current` for a redrive',
    }),
    filter: filter.default({}),
  })
  .openapi('StartBulk');

export const bulkAnswer = bulkRecord
  .omit({ filter: true, pages: true, place: true, page: true, digest: true })
  .openapi('BulkAction');
