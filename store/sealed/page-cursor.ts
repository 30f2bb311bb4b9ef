import { MayflyError } from '../../model/errors.ts';
import type { SealedFields, Unreadable } from './sealed-fields.ts';

/** Where a page of a list, newest first, ended. Opaque to callers, who only give it back. */
interface Position {
  /** When the last item was made, ISO 8601. */
  at: string;
  id: string;
}

/** One page of a project's. */
export interface PageQuery {
  project: string;
  limit: number;
  /** `@default` the first */
  cursor?: string | undefined;
}

export interface Page<T> {
  items: T[];
  /** Given back for the next page; null on the last. */
  nextCursor: string | null;
  /** Documents of the page that cannot be read. Absent: all can. */
  unreadable?: Unreadable[];
}

/** Documents of a list and how they become its records. */
interface Listing<D, T> {
  limit: number;
  /** When the thing was made, by which the list is ordered. */
  at: (document: D) => string;
  /** @param document opened */
  recordOf: (document: D) => T;
}

const ISO_INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

export function cursorOf({ at, id }: Position): string {
  return encodeCursor(`${at} ${id}`);
}

export function encodeCursor(position: string): string {
  return Buffer.from(position).toString('base64url');
}

/** @throws MayflyError invalid_request */
export function decodeCursor(cursor: string, isPosition: (text: string) => boolean): string {
  const position = Buffer.from(cursor, 'base64url').toString('latin1');
  if (isPosition(position)) return position;
  throw new MayflyError('invalid_request', 'The cursor is not one that a list returned.', {
    fields: [{ field: 'cursor', problem: 'must be a `nextCursor` of an earlier answer' }],
  });
}

/** @param found newest first, and one more than the page has when it is not the last */
export function pageOf<D extends { _id: string }, T>(
  fields: SealedFields,
  found: readonly D[],
  { limit, at, recordOf }: Listing<D, T>,
): Page<T> {
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  const unreadable: Unreadable[] = [];
  const items = fields.records(shown, recordOf, unreadable);
  const nextCursor = found.length > limit && last ? cursorOf({ at: at(last), id: last._id }) : null;
  return { items, nextCursor, ...(unreadable.length > 0 && { unreadable }) };
}

/**
 * Of what is behind a cursor, newest first; the id settles equal times.
 * @param field when a document was made @param isId whether a text is an id of what the list holds
 * @throws MayflyError invalid_request
 */
export function olderThan(cursor: string | undefined, field: string, isId: (text: string) => boolean) {
  if (cursor === undefined) return {};
  const isPosition = (text: string) => {
    const [at = '', id = '', ...rest] = text.split(' ');
    return rest.length === 0 && ISO_INSTANT.test(at) && isId(id);
  };
  const [at = '', id = ''] = decodeCursor(cursor, isPosition).split(' ');
  return { [field]: { $lte: at }, $or: [{ [field]: { $lt: at } }, { _id: { $lt: id } }] };
}
