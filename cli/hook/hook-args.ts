import type { ArgsDef } from 'citty';
import { isHookId } from '../../model/ids.ts';
import { checked } from '../terminal/arguments.ts';

export const HOOK = {
  id: { type: 'positional', description: 'Id of a hook (`mayfly hook list`)', required: true },
} as const satisfies ArgsDef;

export const SECRET_FILE = {
  'secret-file': {
    type: 'string',
    valueHint: 'path',
    description: 'A file with the secret; - for standard input. Else MAYFLY_HOOK_SECRET',
  },
} as const satisfies ArgsDef;

/** @throws CliError when `text` is not the id of a hook */
export const hookId = checked(isHookId, 'is not the id of a hook', 'List them with `mayfly hook list FUNCTION`.');
