import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { filePathInUrl } from '../../../model/files/file-path.ts';
import { useFiles } from '../../api/guest-files.ts';
import { jsonOf } from '../../api/support.ts';

const execute = promisify(execFile);
const { folder, ask } = useFiles();

it('large directories are listed in little time and memory', async () => {
  // Asynchronous, since the API is in this process, and would drop idle connections during a blocked event loop.
  await execute('sh', ['-c', 'cd "$1" && seq -f "entry-%06g" 1 20000 | xargs touch', '-', folder()]);
  const response = await ask(`${filePathInUrl(Buffer.from(folder()))}?limit=10000`);
  const page = await jsonOf<{ items: { name: string }[]; nextCursor: string }>(response);
  expect([page.items.length, page.items[0]?.name, page.items.at(-1)?.name]).toEqual([
    10_000,
    'entry-000001',
    'entry-010000',
  ]);
  expect(Buffer.from(page.nextCursor, 'base64url').toString()).toBe('entry-010000');
});
