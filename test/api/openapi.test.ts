import { expect, test } from 'vitest';
import { createApp } from '../../api/app.ts';
import { openApiDocument } from '../../api/description/openapi.ts';
import type { AppDeps } from '../../api/http/context.ts';
import { Described } from '../support/described.ts';

const app = createApp({ store: {}, sagas: {}, logger: {}, version: '0' } as unknown as AppDeps);
const document = openApiDocument(app, '0.1.0');

function* objectsIn(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  yield value as Record<string, unknown>;
  for (const inner of Object.values(value)) yield* objectsIn(inner);
}

test('every operation has a unique name', () => {
  const operations = Object.values(document.paths ?? {}).flatMap((item) => Object.values(item));
  const names = operations.map(({ operationId }) => operationId as string);
  expect(names.length).toBeGreaterThan(50);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-z][A-Za-z]+$/);
});

test('an operation is named by its method, alike for all nouns', () => {
  const verbs: Record<string, RegExp> = {
    get: /^(?:get|list|watch|diff)[A-Z]/,
    put: /^put[A-Z]/,
    patch: /^update[A-Z]/,
    delete: /^delete[A-Z]/,
  };
  const { operations } = new Described(document);
  const others = operations.filter(({ method, operationId }) => verbs[method]?.test(operationId) === false);
  expect(others.map(({ operationId }) => operationId)).toEqual([]);
});

test('the operations of a path either all need a key or none does', () => {
  const keyless = Object.entries(document.paths ?? {}).map(
    ([path, item]) => [path, Object.values(item).map(({ security }) => security?.length === 0)] as const,
  );
  expect(keyless.filter(([, all]) => new Set(all).size > 1)).toEqual([]);
  expect(keyless.filter(([, all]) => all[0]).map(([path]) => path)).toEqual([
    '/v1/receipt-keys',
    '/v1/waitpoints/{token}',
  ]);
});

test('every pattern is valid in JSON Schema, and matches the examples next to it', () => {
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

test('every example is valid under its schema, and every operation has an example answer', () => {
  const described = new Described(document);
  const without: string[] = [];
  for (const { operationId, requestBody, responses } of described.operations) {
    const asked = Object.values(requestBody?.content ?? {});
    const answered = Object.values(responses).flatMap(({ content = {} }) => Object.values(content));
    const isEmpty = '204' in responses; // no content to show
    if (!isEmpty && !answered.some(({ example }) => example !== undefined)) without.push(operationId);
    for (const { schema, example } of [...asked, ...answered]) {
      if (example === undefined) continue;
      expect(described.faults(schema ?? false, example), operationId).toEqual([]);
    }
    if (requestBody?.content['application/json'])
      expect(
        asked.some(({ example }) => example),
        operationId,
      ).toBe(true);
  }
  expect(without).toEqual([]);
});

test('no example has a secret, or a path of the machine that recorded it', () => {
  const text = JSON.stringify(document);
  const secrets = text.match(/mfk_[0-9a-f]{12}_[\w-]+/g) ?? [];
  expect(secrets.filter((secret) => !secret.endsWith('x'.repeat(43)))).toEqual([]);
  expect(text).not.toMatch(/\/(?:var\/tmp|tmp\/mayfly|root|work)\/|PRIVATE KEY/);
});

test('both ways to send a key are described', () => {
  expect(document.security).toEqual([{ bearer: [] }, { apiKey: [] }]);
  expect(Object.keys(document.components?.securitySchemes ?? {})).toEqual(['bearer', 'apiKey']);
});
