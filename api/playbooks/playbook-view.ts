import type { z } from '@hono/zod-openapi';
import type { GuestName } from '../../model/files/file-change.ts';
import { quotedPath } from '../../model/guest-name.ts';
import type { PlaybookRecord } from '../../model/playbook/playbook.ts';
import type { playbookAnswer } from './playbook-schemas.ts';

/** A record as every route answers it. Its host has put the paths in it as Git writes them. */
export function playbookView({ written, check, ...shown }: PlaybookRecord): z.infer<typeof playbookAnswer> {
  const inLine = (path: GuestName) => (typeof path === 'string' ? path : quotedPath(path));
  const said = (left: NonNullable<PlaybookRecord['written']>['left']) =>
    left.map(({ path, why }) => ({ path: inLine(path), why }));
  return {
    ...shown,
    written: written && { ...written, left: said(written.left) },
    check: check && { ...check, left: said(check.left), beyond: check.beyond.map(inLine) },
  };
}
