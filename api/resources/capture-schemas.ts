import { z } from '@hono/zod-openapi';
import { CAPTURE_STATES } from '../../model/snapshots/capture.ts';
import { actor, captureId, cursor, instant, limit, stepFailure, viewOf } from '../http/schemas.ts';
import { savedDisk } from './saved-disk.ts';

export const captureParams = z.strictObject({
  id: captureId.openapi({ param: { name: 'id', in: 'path' }, example: 'cap-0123456789abcdef' }),
});

export const captureQuery = z.strictObject({ limit, cursor });

export const captureAnswer = z
  .object({
    id: z.string(),
    project: z.string(),
    projects: z.array(z.string()),
    allowedEgress: z.enum(['none', 'internet']),
    hostId: z.string(),
    source: z.string(),
    state: z.enum(CAPTURE_STATES),
    createdBy: actor,
    createdAt: instant,
    readyAt: instant.nullable(),
    saved: z
      .object({
        disks: z.array(savedDisk),
        sizeBytes: z.int(),
        quiesced: z.boolean(),
        capturedAt: instant,
        parentId: z.string().nullable(),
        fullBecause: z.string().nullable(),
      })
      .nullable(),
    failure: stepFailure.nullable(),
    waitingFor: z.string().nullable(),
  })
  .openapi('Capture', {
    description:
      '`projects`: who may clone it. `allowedEgress`: the most that its clones can reach. `capturedAt`: the moment it is of. `quiesced`: file systems were frozen at that moment. `parentId`: only what ' +
      'changed since that capture was copied; null: all was, and `fullBecause` says why.',
  });

export const captureView = viewOf(captureAnswer);
export type CaptureView = z.infer<typeof captureAnswer>;
