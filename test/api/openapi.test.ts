import { expect, test } from 'vitest';
import { createApp } from '../../api/app.ts';
import { openApiDocument } from '../../api/description/openapi.ts';
import type { AppDeps } from '../../api/http/context.ts';

const app = createApp({ store: {}, sagas: {}, logger: {}, version: '0' } as unknown as AppDeps);
const document = openApiDocument(app, '0.1.0');

/** Every object in it, however deep. */
function* objectsIn(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  yield value as Record<string, unknown>;
  for (const inner of Object.values(value)) yield* objectsIn(inner);
}

// Promise: the document is true, so that clients can be generated from it. Costs nothing.
test('every operation has a name of its own', () => {
  const operations = Object.values(document.paths ?? {}).flatMap((item) => Object.values(item));
  const names = operations.map(({ operationId }) => operationId as string);
  expect(names.length).toBeGreaterThan(50);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-z][A-Za-z]+$/);
});

test('every pattern is one of JSON Schema, and allows the examples beside it', () => {
  let patterns = 0;
  for (const { pattern, example } of objectsIn(document)) {
    if (typeof pattern !== 'string') continue;
    patterns++;
    expect(pattern).not.toMatch(/\/[a-z]*$/);
    const compiled = new RegExp(pattern, 'u');
    if (typeof example === 'string') expect(example).toMatch(compiled);
  }
  expect(patterns).toBeGreaterThan(20);
});

test('both ways to send a key are described', () => {
  expect(document.security).toEqual([{ bearer: [] }, { apiKey: [] }]);
  expect(Object.keys(document.components?.securitySchemes ?? {})).toEqual(['bearer', 'apiKey']);
});
