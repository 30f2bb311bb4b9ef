import { readFileSync } from 'node:fs';
import type { App } from '../http/context.ts';
import { openapiExtras } from '../http/schemas.ts';

/**
 * Returns the OpenAPI 3.1 description, generated from the schemas that validate requests. Call it once: it adds to the
 * app's registry.
 */
export function openApiDocument(app: App, version: string) {
  const schemes = {
    bearer: { type: 'http', scheme: 'bearer' },
    apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  };
  for (const [name, scheme] of Object.entries(schemes)) {
    app.openAPIRegistry.registerComponent('securitySchemes', name, scheme as { type: 'http' });
  }
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Mayfly',
      version,
      description: 'Disposable virtual machines for AI agents.',
      license: { name: 'Apache-2.0', ...openapiExtras({ identifier: 'Apache-2.0' }) },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { apiKey: [] }],
  });
  addExamples(document.paths ?? {});
  return withPlainPatterns(document);
}

/** Example request, and responses by status and media type. */
export interface Exchange {
  request?: unknown;
  answers: Record<string, Record<string, unknown>>;
}

interface Content {
  content?: Record<string, { example?: unknown }>;
}

interface Operation {
  operationId?: string;
  requestBody?: Content;
  responses?: Record<string, Content>;
}

/**
 * Returns the recorded examples by operation, from test/extended/api/real-answers.integration.test.ts on a simulated
 * host.
 */
export function recordedExchanges(): Record<string, Exchange> {
  return JSON.parse(readFileSync(new URL('./examples.json', import.meta.url), 'utf8')) as Record<string, Exchange>;
}

function addExamples(paths: Record<string, object>): void {
  const exchanges = recordedExchanges();
  for (const operation of Object.values(paths).flatMap((item) => Object.values(item) as Operation[])) {
    const { request, answers = {} } = exchanges[operation.operationId ?? ''] ?? {};
    const asked = operation.requestBody?.content?.['application/json'];
    if (asked && request !== undefined) asked.example = request;
    for (const [status, byType] of Object.entries(answers)) {
      for (const [type, example] of Object.entries(byType)) {
        const answered = operation.responses?.[status]?.content?.[type];
        if (answered) answered.example = example;
      }
    }
  }
}

/**
 * Removes the flags from each `pattern`: JSON Schema has none, and reads patterns as Unicode (2020-12, core §6.4). The
 * generator appends those of the regular expression.
 */
function withPlainPatterns<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withPlainPatterns) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => [
    name,
    name === 'pattern' && typeof inner === 'string' ? inner.replace(/\/u$/, '') : withPlainPatterns(inner),
  ]);
  return Object.fromEntries(entries) as T;
}
