import { MayflyError } from '../../model/errors.ts';

/** Where a page of a list, newest first, ended. Opaque to callers, who only give it back. */
export interface Position {
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
}

const ISO_INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

export function cursorOf({ at, id }: Position): string {
  return Buffer.from(`${at} ${id}`).toString('base64url');
}

/** @param found newest first, and one more than the page has when it is not the last @param at when an item was made */
export function pageOf<T extends { id: string }>(found: readonly T[], limit: number, at: (item: T) => string): Page<T> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: found.length > limit && last ? cursorOf({ at: at(last), id: last.id }) : null };
}

/**
 * Of what is behind a cursor, newest first; the id settles equal times.
 * @param field when a document was made @param isId whether a text is an id of what the list holds
 * @throws MayflyError invalid_request
 */
export function olderThan(cursor: string | undefined, field: string, isId: (text: string) => boolean) {
  if (cursor === undefined) return {};
  const { at, id } = positionOf(cursor, isId);
  return { [field]: { $lte: at }, $or: [{ [field]: { $lt: at } }, { _id: { $lt: id } }] };
}

/** @throws MayflyError invalid_request */
function positionOf(cursor: string, isId: (text: string) => boolean): Position {
  const [at = '', id = '', ...rest] = Buffer.from(cursor, 'base64url').toString('latin1').split(' ');
  if (rest.length === 0 && ISO_INSTANT.test(at) && isId(id)) return { at, id };
  throw new MayflyError('invalid_request', 'The cursor is not one that a list returned.', {
    fields: [{ field: 'cursor', problem: 'must be a `nextCursor` of an earlier answer' }],
  });
}
