import type { z } from '@hono/zod-openapi';
import type { BakedSource } from '../../model/snapshots/baked-source.ts';
import type { bakedSource } from './source-schemas.ts';

/** A record as every route answers it. */
export function bakedView({
  bakeId: _own,
  installationId: _where,
  ...shown
}: BakedSource): z.infer<typeof bakedSource> {
  return shown;
}
