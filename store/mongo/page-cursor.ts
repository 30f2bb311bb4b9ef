import { MayflyError } from '../../model/errors.ts';

/** Where a page of a list, newest first, ended. Opaque to callers, who only give it back. */
export interface Position {
  /** When the last item was made, ISO 8601. */
  at: string;
  id: string;
}

const ISO_INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

export function cursorOf({ at, id }: Position): string {
  return Buffer.from(`${at} ${id}`).toString('base64url');
}

/**
 * @param isId whether a text is an id of what the list holds
 * @throws MayflyError invalid_request
 */
export function positionOf(cursor: string, isId: (text: string) => boolean): Position {
  const [at = '', id = '', ...rest] = Buffer.from(cursor, 'base64url').toString('latin1').split(' ');
  if (rest.length === 0 && ISO_INSTANT.test(at) && isId(id)) return { at, id };
  throw new MayflyError('invalid_request', 'The cursor is not one that a list returned.', {
    fields: [{ field: 'cursor', problem: 'must be a `nextCursor` of an earlier answer' }],
  });
}
