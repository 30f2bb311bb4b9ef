import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { TEMPLATE_STATES } from '../../model/templates/template.ts';
import { actor, hostId, instant, snapshotId, sourceName, viewOf, whole } from '../http/schemas.ts';

export const templateParams = z.strictObject({
  id: snapshotId.openapi({ param: { name: 'id', in: 'path' }, example: 'snp-0123456789abcdef' }),
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

export const templateAnswer = z
  .object({
    id: z.string(),
    project: z.string(),
    hostId: z.string(),
    source: z.string(),
    cpus: z.int().nullable(),
    memoryMib: z.int().nullable(),
    state: z.enum(TEMPLATE_STATES),
    reason: z.string().nullable().openapi({ description: 'Why it has failed, or is to go' }),
    retryAt: instant.nullable().openapi({ description: 'Before this no other is begun in its place' }),
    createdBy: actor,
    createdAt: instant,
    savedAt: instant.nullable(),
    readyAt: instant.nullable(),
    wakes: z.int().openapi({ description: 'Sandboxes that woke from it, as its host told some minutes ago at most' }),
    lastUsedAt: instant.nullable(),
    sizeBytes: z.int().nullable(),
    waitingFor: z.string().nullable(),
    updatedAt: instant,
  })
  .openapi('Template');

export const templateView = viewOf(templateAnswer);
