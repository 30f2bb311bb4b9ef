import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../../worker/config/artifacts.mjs';

const folder = join(repository, 'model');

test('the API has the descriptions of models imported before it', async () => {
  const models = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  expect(models.length).toBeGreaterThan(100);
  for (const name of models) await import(join(folder, name));
  await expect(import('../../api/app.ts')).resolves.toHaveProperty('createApp');
});
