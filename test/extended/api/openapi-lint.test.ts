import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, test } from 'vitest';
import { createApp } from '../../../api/app.ts';
import { openApiDocument } from '../../../api/description/openapi.ts';
import type { AppDeps } from '../../../api/http/context.ts';

const app = createApp({ store: {}, sagas: {}, logger: {}, version: '0' } as unknown as AppDeps);
const document = openApiDocument(app, '0.1.0');

test('a linter reports nothing: OpenAPI 3.1, its recommended rules, all of them as errors', async () => {
  const config = await createConfig({ extends: ['recommended-strict'] });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  expect(problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)).toEqual([]);
  const broken = JSON.stringify({ ...document, security: [{ nobody: [] }] });
  expect(await lintFromString({ source: broken, config })).not.toEqual([]);
});
