import type { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { replaceControls } from '../../model/utf8.ts';

interface Issue {
  code?: string;
  path: PropertyKey[];
  message: string;
  keys?: string[];
  /** Issues of each option of a union. */
  errors?: Issue[][];
}

interface Field {
  field: string;
  problem: string;
}

/**
 * Parses a part of a request; the error names every field. A malformed id in the path is an error of its own.
 * @throws MayflyError invalid_id, invalid_request
 */
export function parsePart<S extends z.ZodType>(part: 'path' | 'query' | 'header' | 'body', schema: S, value: unknown) {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { issues } = result.error;
  if (part === 'path' && issues.some(({ path: [name] }) => name !== 'port'))
    throw new MayflyError('invalid_id', 'The path names something that is neither an id nor a name.');
  const fields = issues.flatMap(fieldsOf);
  throw new MayflyError('invalid_request', `The ${part} is not valid: ${summary(fields)}.`, { fields });
}

function fieldsOf(issue: Issue): Field[] {
  const at = issue.path.map(String);
  if (issue.code === 'unrecognized_keys' && issue.keys) {
    return issue.keys.map((key) => ({ field: toDisplayText([...at, key]), problem: 'is not a field of this request' }));
  }
  if (issue.code === 'invalid_union' && issue.errors) return fieldsOfOneOf(issue, issue.errors);
  return [{ field: toDisplayText(at), problem: issue.message }];
}

/**
 * Returns the issues of the option of a union that the value means, or else the fields that distinguish the options.
 */
function fieldsOfOneOf({ path, message }: Issue, kinds: Issue[][]): Field[] {
  const foreign = kinds.map((issues) => issues.flatMap(({ keys }) => keys ?? []));
  const meant = kinds.filter((_, index) => foreign[index]?.length === 0);
  if (meant.length === 1)
    return meant.flat().flatMap((issue) => fieldsOf({ ...issue, path: [...path, ...issue.path] }));
  const given = new Set(foreign.flat());
  const unknown = [...given].filter((key) => foreign.every((keys) => keys.includes(key)));
  const missing = kinds.flat().flatMap((issue) => issue.path.slice(0, 1).map(String));
  const known = [...new Set([...missing, ...[...given].filter((key) => !unknown.includes(key))])].join(', ');
  const at = path.map(String);
  if (unknown.length > 0)
    return unknown.map((key) => ({ field: toDisplayText([...at, key]), problem: `is none of ${known}` }));
  const problem = known === '' ? (kinds.flat()[0]?.message ?? message) : `must have exactly one of ${known}`;
  return [{ field: toDisplayText(at), problem }];
}

/** Returns a bounded, printable field name: callers choose it. */
function toDisplayText(path: string[]): string {
  const text = replaceControls(path.join('.'));
  return text.length > 200 ? `${text.slice(0, 200)}…` : text || '(body)';
}

function summary(fields: Field[]): string {
  const [first, ...others] = fields;
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  return first ? `${first.field} ${first.problem}${more}` : 'see errors';
}
