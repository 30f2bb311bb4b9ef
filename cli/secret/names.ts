import type { ArgsDef } from 'citty';
import { isSecretName } from '../../model/secrets/secret.ts';
import { usageError } from '../terminal/cli-error.ts';

export const NAME = {
  name: { type: 'positional', description: 'Name of a secret (`mayfly secret list`)', required: true },
} as const satisfies ArgsDef;

/** @throws CliError when `text` is not the name of a secret */
export function secretName(text: string): string {
  if (isSecretName(text)) return text;
  throw usageError(
    `${JSON.stringify(text)} cannot name a secret`,
    '1 to 63 of a-z, 0-9 and -; it begins with a letter, such as database-password.',
  );
}
