import { z } from 'zod';
import { actor, instant } from '../fields.ts';

/** Secret of a project; only its newest value is stored, separately. */
export const secretRecord = z.object({
  project: z.string(),
  name: z.string(),
  version: z
    .int()
    .describe(
      'The newest: attempts that begin from now on are given it. One that is put again when it was deleted goes on from there',
    ),
  valueId: z.string().nullable().describe('Under which the newest value is kept; null: the secret is deleted'),
  notMasked: z.string().nullable().describe('Why what its functions print is not masked; null: it is'),
  versions: z.array(z.object({ version: z.int(), createdBy: actor, createdAt: instant })).describe('The newest first'),
  createdAt: instant,
  updatedAt: instant,
});
export type SecretRecord = z.infer<typeof secretRecord>;

export const secretUse = z.object({ name: z.string(), env: z.string().nullable(), file: z.string().nullable() });
/**
 * Delivery of a secret to a process: in a variable, or in a file in the folder `$MAYFLY_SECRETS`. Exactly one is set.
 */
export type SecretUse = z.infer<typeof secretUse>;

export const usedSecret = z.object({ name: z.string(), version: z.int() });
/** Version of a secret that an attempt received. */
export type UsedSecret = z.infer<typeof usedSecret>;

/** Secret of an attempt: the current value at its start; later changes do not affect it. */
export interface AttemptSecret extends SecretUse, UsedSecret {
  value: string;
}

const NAME = /^[a-z][a-z0-9-]{0,62}$/;
const SECRET_NAME_PATTERN = NAME.source;

export function isSecretName(text: string): boolean {
  return NAME.test(text);
}

/** Plain file name: no slash, not hidden, no characters special to a terminal or shell. */
export const SECRET_FILE = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

export const secretName = z.string().refine(isSecretName, 'is not the name of a secret').meta({
  pattern: SECRET_NAME_PATTERN,
  example: 'database-password',
});

/** Formats the warning about an unmasked secret for callers. */
export function formatUnmaskedWarning(name: string, notMasked: string): string {
  return `The secret ${name} is not masked in what functions print: ${notMasked}.`;
}
