import { z } from '@hono/zod-openapi';
import { egress } from '../../model/fields.ts';
import { playbookRecord } from '../../model/playbook/playbook.ts';
import { idOf, snapshotId } from '../../model/request-fields.ts';
import { viewOf } from '../http/schemas.ts';

export const playbookParams = z.strictObject({
  id: idOf('playbook'),
});

export const writePlaybook = z
  .strictObject({
    from: snapshotId
      .optional()
      .openapi({ description: 'What changed since this snapshot; since it began, unless said' }),
    network: z
      .strictObject({ egress })
      .optional()
      .openapi({ description: 'What the fresh sandbox can reach; what the sandbox can, unless said' }),
  })
  .openapi('WritePlaybook');

export type WritePlaybookRequest = z.output<typeof writePlaybook>;

export const playbookAnswer = playbookRecord.omit({}).openapi('Playbook');
export const playbookView = viewOf(playbookAnswer);
