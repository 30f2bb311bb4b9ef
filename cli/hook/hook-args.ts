import type { ArgsDef } from 'citty';
import { isHookId } from '../../model/ids.ts';
import { checked, option, positional } from '../terminal/arguments.ts';

export const HOOK = { id: positional('Id of a hook (`mayfly hook list`)') };

export const SECRET_FILE = {
  'secret-file': option('A file with the secret; - for standard input. Else MAYFLY_HOOK_SECRET', 'path'),
} as const satisfies ArgsDef;

/** @throws CliError when `text` is not the id of a hook */
export const hookId = checked(isHookId, 'is not the id of a hook', 'List them with `mayfly hook list FUNCTION`.');
