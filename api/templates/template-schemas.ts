import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { hostId, snapshotId, sourceName, whole } from '../../model/request-fields.ts';
import { templateRecord } from '../../model/templates/template.ts';

export const templateParams = z.strictObject({
  id: snapshotId,
});

export const makeTemplate = z
  .strictObject({
    source: sourceName,
    cpus: whole(LIMITS.cpus, 'virtual CPUs').optional(),
    memoryMib: whole(LIMITS.memoryMib, 'MiB').optional(),
    hostId: hostId.optional().openapi({ description: 'Else the one with most memory to spare' }),
  })
  .openapi('MakeTemplate', {
    description:
      'Which sandboxes wake from it: those of that source and size, of the project of the key, on that host.',
  });

export const templateAnswer = templateRecord
  .omit({ installationId: true, key: true, builderId: true, probeIds: true })
  .openapi('Template');

export type TemplateView = z.infer<typeof templateAnswer>;
