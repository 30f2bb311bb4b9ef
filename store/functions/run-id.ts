import { MayflyError } from '../../model/errors.ts';
import { isRunId } from '../../model/ids.ts';

/** The same. @throws MayflyError invalid_id */
export function checked(id: string): string {
  if (typeof id === 'string' && isRunId(id)) return id;
  throw new MayflyError('invalid_id', 'That is not a run id.');
}
