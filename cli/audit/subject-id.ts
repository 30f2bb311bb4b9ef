import { isSourceId } from '../../model/ids.ts';
import { sandboxId } from '../terminal/arguments.ts';

/** The id of what has an audit trail. @throws CliError */
export function subjectId(text: string): string {
  return isSourceId(text) ? text : sandboxId(text);
}
