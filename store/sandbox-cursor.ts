import { MayflyError } from '../model/errors.ts';
import { isSandboxId } from '../model/ids.ts';

/** Where a page of sandboxes ended. Opaque to callers, who only give it back. */
export interface Position {
  createdAt: string;
  id: string;
}

const ISO_INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

export function cursorOf(position: Position): string {
  return Buffer.from(`${position.createdAt} ${position.id}`).toString('base64url');
}

/** @throws MayflyError invalid_request */
export function positionOf(cursor: string): Position {
  const [createdAt = '', id = '', ...rest] = Buffer.from(cursor, 'base64url').toString('latin1').split(' ');
  if (rest.length === 0 && ISO_INSTANT.test(createdAt) && isSandboxId(id)) return { createdAt, id };
  throw new MayflyError('invalid_request', 'The cursor is not one that a list returned.', {
    fields: [{ field: 'cursor', problem: 'must be a `nextCursor` of an earlier answer' }],
  });
}
