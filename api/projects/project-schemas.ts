import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { isProjectId, PROJECT_ID_PATTERN } from '../../model/project.ts';
import { printable } from '../../model/request-fields.ts';
import { instant } from '../http/schemas.ts';

const projectId = z
  .string()
  .refine(isProjectId, 'must be 1 to 63 of a-z 0-9 -, and begin with a letter')
  .openapi({ pattern: PROJECT_ID_PATTERN, example: 'team-a' });

export const projectParams = z.strictObject({ id: projectId });

function limit(max: number, description: string, min = 0) {
  return z
    .int()
    .min(min)
    .max(max)
    .nullable()
    .optional()
    .openapi({ description: `${description}; null: no limit` });
}

const { max, maxMemoryMib } = LIMITS.projectLimits;
const limits = z
  .strictObject({
    sandboxes: limit(max, 'Sandboxes that have not ended'),
    cpus: limit(max, 'Their virtual CPUs'),
    memoryMib: limit(maxMemoryMib, 'Their memory, MiB, also of those that are paused or hibernated'),
    diskBytes: limit(LIMITS.quotaBytes.max, 'What they and snapshots take of disks, bytes', LIMITS.quotaBytes.min),
    createsPerMinute: limit(max, 'Sandboxes that are asked for within 60 s'),
    streams: limit(max, 'Event streams that are open at one API process'),
  })
  .openapi('LimitProject', { description: 'What it may have at once; what is not named stays' });

const settings = {
  limits: limits.optional(),
  sources: z.array(printable(LIMITS.sourceName.maxLength)).max(LIMITS.projectSources).nullable().optional().openapi({
    description:
      'Names of the sources that it may use beside its own ones, which are called `<project>.…`; null: all but those of other projects',
  }),
};

export const createProject = z.strictObject({ id: projectId, ...settings }).openapi('CreateProject');

export type Settings = Omit<z.infer<typeof createProject>, 'id'>;

export const patchProject = z
  .strictObject(settings)
  .refine((changes) => Object.keys(changes).length > 0, { message: 'must change something' })
  .openapi('PatchProject', { minProperties: 1 });

export const projectAnswer = z
  .object({
    id: z.string(),
    sources: z.array(z.string()).nullable(),
    limits: limits.required(),
    createdAt: instant,
    deletedAt: instant.nullable(),
  })
  .openapi('Project');

export const projectUsage = z
  .object({
    project: z.string(),
    sandboxes: z.int().openapi({ description: 'That have not ended, and those that are about to begin' }),
    cpus: z.int(),
    memoryMib: z.int(),
    diskBytes: z.number(),
    createsLastMinute: z.int().openapi({ description: 'Counted only while the project has a limit' }),
    limits: projectAnswer.shape.limits,
  })
  .openapi('ProjectUsage');
