import { readFile } from 'node:fs/promises';
import mongoose from 'mongoose';
import { expect, it } from 'vitest';
import { createRepositories } from '../../store/connect.ts';
import { StoreEncryption } from '../../store/sealed/sealing.ts';

it('docs/store.md lists the fields that the schemas encrypt', async () => {
  const sealing = new StoreEncryption(null);
  createRepositories(mongoose.createConnection(), sealing, null);
  const rows = [...sealing.encrypted()].map(
    ([collection, fields]) =>
      `| \`${collection}\` | ${fields
        .toSorted()
        .map((field) => `\`${field}\``)
        .join(', ')} |`,
  );
  const page = await readFile(new URL('../../docs/store.md', import.meta.url), 'utf8');
  const [, table = ''] = page.split('| collection | encrypted |\n|---|---|\n');
  expect(table.split('\n\n', 1)).toEqual([rows.toSorted().join('\n')]);
});
