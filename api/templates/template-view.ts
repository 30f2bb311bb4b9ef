import type { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import type { TemplateRecord } from '../../model/templates/template.ts';
import type { RequestDeps } from '../http/context.ts';
import type { templateAnswer } from './template-schemas.ts';

/** A record as every route answers it. */
export function templateView({
  key: _key,
  installationId: _where,
  builderId: _builder,
  probeIds: _probes,
  ...shown
}: TemplateRecord): z.infer<typeof templateAnswer> {
  return shown;
}

/** @throws MayflyError template_not_found */
export async function requireTemplate({ store }: Pick<RequestDeps, 'store'>, id: string): Promise<TemplateRecord> {
  const record = await store.templates.get(id);
  if (record) return record;
  throw new MayflyError('template_not_found', `There is no template ${id}.`);
}
