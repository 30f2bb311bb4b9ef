import { z } from '@hono/zod-openapi';
import { captureId } from '../../model/request-fields.ts';
import { captureRecord } from '../../model/snapshots/capture.ts';

export const captureParams = z.strictObject({
  id: captureId,
});

export const captureAnswer = captureRecord.omit({ installationId: true }).openapi('Capture');

export type CaptureView = z.infer<typeof captureAnswer>;
