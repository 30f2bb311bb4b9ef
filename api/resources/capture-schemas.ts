import { z } from '@hono/zod-openapi';
import { captureRecord } from '../../model/snapshots/capture.ts';
import { captureId, cursor, limit, viewOf } from '../http/schemas.ts';

export const captureParams = z.strictObject({
  id: captureId.openapi({ param: { name: 'id', in: 'path' }, example: 'cap-0123456789abcdef' }),
});

export const captureQuery = z.strictObject({ limit, cursor });

export const captureAnswer = captureRecord.omit({ installationId: true }).openapi('Capture');

export const captureView = viewOf(captureAnswer);
export type CaptureView = z.infer<typeof captureAnswer>;
