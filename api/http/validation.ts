import { MayflyError } from '../../model/errors.ts';
import type { ValidationHook } from './context.ts';

interface Issue {
  code?: string;
  path: PropertyKey[];
  message: string;
  keys?: string[];
}

/**
 * What happens when a request does not fit its schema: one error that names every field. An id in the path that is no
 * id is an error of its own kind.
 * @throws MayflyError invalid_id, invalid_request
 */
export const refuseInvalid: ValidationHook = (result) => {
  if (result.success) return;
  if (result.target === 'param' && result.error.issues.some(({ path: [name] }) => name !== 'port'))
    throw new MayflyError('invalid_id', 'The path names something that is neither an id nor a name.');
  const fields = result.error.issues.flatMap(fieldsOf);
  throw new MayflyError('invalid_request', `The ${partOf(result.target)} is not valid: ${summary(fields)}.`, {
    fields,
  });
};

function fieldsOf(issue: Issue): { field: string; problem: string }[] {
  const at = issue.path.map(String);
  if (issue.code === 'unrecognized_keys' && issue.keys) {
    return issue.keys.map((key) => ({ field: shown([...at, key]), problem: 'is not a field of this request' }));
  }
  return [{ field: shown(at), problem: issue.message }];
}

/** Field names can be the caller's own text, so they are shown in a bounded, printable form. */
function shown(path: string[]): string {
  const text = path.join('.').replace(/[\p{Cc}\p{Cs}]/gu, '\u{fffd}');
  return text.length > 200 ? `${text.slice(0, 200)}…` : text || '(body)';
}

function partOf(target: string): string {
  return { json: 'body', param: 'path' }[target] ?? target;
}

function summary(fields: { field: string; problem: string }[]): string {
  const [first, ...others] = fields;
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  return first ? `${first.field} ${first.problem}${more}` : 'see errors';
}
