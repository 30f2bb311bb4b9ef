import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { ERRORS } from '../../model/errors.ts';

it('docs/errors.md lists every code with its status, as `npm run docs` writes it', async () => {
  const page = await readFile(new URL('../../docs/errors.md', import.meta.url), 'utf8');
  const listed = [...page.matchAll(/`(\w+)` \| (\d{3}) \| (yes|no) \|/g)].map(([, code, status, retry]) => [
    code,
    { status: Number(status), retryable: retry === 'yes' },
  ]);
  const expected = Object.entries(ERRORS).map(([code, { status, retryable }]) => [code, { status, retryable }]);
  expect(listed).toEqual(expected);
});
