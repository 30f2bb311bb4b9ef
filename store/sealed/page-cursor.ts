import { MayflyError } from '../../model/errors.ts';
import type { EncryptedFields, Unreadable } from './sealed-fields.ts';

/** End of a page of a list, newest first. Opaque to callers, who only return it. */
interface Position {
  /** Creation time of the last item, ISO 8601. */
  at: string;
  id: string;
}

/** Query for one page of a project's items. */
export interface PageQuery {
  project: string;
  limit: number;
  /** `@default` the first page */
  cursor?: string | undefined;
}

export interface Page<T> {
  items: T[];
  /** Cursor of the next page; null on the last. */
  nextCursor: string | null;
  /** Documents of the page that cannot be read. Absent: all can. */
  unreadable?: Unreadable[];
}

/** List of documents, and their conversion to records. */
interface Listing<D, T> {
  limit: number;
  /** Returns the creation time, by which the list is ordered. */
  at: (document: D) => string;
  /** @param document decrypted */
  recordOf: (document: D) => T;
}

const ISO_INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

export function toCursor({ at, id }: Position): string {
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

/** @param found newest first, and one more than the page has unless it is the last */
export function toPage<D extends { _id: string }, T>(
  fields: EncryptedFields,
  found: readonly D[],
  { limit, at, recordOf }: Listing<D, T>,
): Page<T> {
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  const unreadable: Unreadable[] = [];
  const items = fields.records(shown, recordOf, unreadable);
  const nextCursor = found.length > limit && last ? toCursor({ at: at(last), id: last._id }) : null;
  return { items, nextCursor, ...(unreadable.length > 0 && { unreadable }) };
}

/**
 * Returns a filter of the items after a cursor, newest first, then by id.
 * @param field field of the creation time @param isId reports whether a text is an id of the list's items
 * @throws MayflyError invalid_request
 */
export function cursorFilter(cursor: string | undefined, field: string, isId: (text: string) => boolean) {
  if (cursor === undefined) return {};
  const isPosition = (text: string) => {
    const [at = '', id = '', ...rest] = text.split(' ');
    return rest.length === 0 && ISO_INSTANT.test(at) && isId(id);
  };
  const [at = '', id = ''] = decodeCursor(cursor, isPosition).split(' ');
  return { [field]: { $lte: at }, $or: [{ [field]: { $lt: at } }, { _id: { $lt: id } }] };
}
