import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { type SecretRecord, secretName, secretRecord, warningOf } from '../../model/secrets/secret.ts';
import type { SecretUsed } from '../../store/secrets/secret-uses.ts';
import { instant } from '../http/schemas.ts';

const { secrets: limits } = LIMITS.functions;

export const secretParams = z.strictObject({ name: secretName });

export const putSecret = z
  .strictObject({
    value: z
      .string()
      .min(1)
      .max(limits.bytes)
      .refine((value) => Buffer.byteLength(value) <= limits.bytes, `has more than ${limits.bytes} bytes`)
      .refine((value) => !value.includes('\0'), 'has a NUL character')
      .refine((value) => Buffer.from(value).toString() === value, 'is no well-formed text')
      .openapi({ format: 'password', description: 'It is never answered' }),
  })
  .openapi('PutSecret');

export const secretAnswer = secretRecord
  .omit({ valueId: true, notMasked: true, versions: true })
  .extend({
    isMasked: z.boolean().openapi({ description: 'Whether `***` stands in its place in what its functions print' }),
    warnings: z.array(z.string()).openapi({ description: 'Why it is not masked' }),
  })
  .openapi('Secret');

export const secretDetail = secretAnswer
  .extend({
    versions: secretRecord.shape.versions.meta({
      description: `The newest first, at most ${limits.versions}. Only the newest has a value`,
    }),
    uses: z
      .array(z.object({ version: z.int(), runId: z.string(), attempt: z.int(), at: instant }))
      .openapi({ description: `Which run was given which version: the newest first, at most ${limits.uses}` }),
  })
  .openapi('SecretDetail');

export function secretView(record: SecretRecord): z.infer<typeof secretAnswer> {
  const { project, name, version, notMasked, createdAt, updatedAt } = record;
  const warnings = notMasked === null ? [] : [warningOf(name, notMasked)];
  return { project, name, version, isMasked: notMasked === null, warnings, createdAt, updatedAt };
}

export function secretDetailView(record: SecretRecord, uses: SecretUsed[]): z.infer<typeof secretDetail> {
  return { ...secretView(record), versions: record.versions, uses };
}
