import type { z } from '@hono/zod-openapi';
import type { SourceAccess } from '../../model/snapshots/source-access.ts';
import type { sourceAccess } from './source-schemas.ts';

/** A record as every route answers it. */
export function accessView({ installationId: _where, ...shown }: SourceAccess): z.infer<typeof sourceAccess> {
  return shown;
}
