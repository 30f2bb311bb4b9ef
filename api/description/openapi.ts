import type { App } from '../http/context.ts';

/**
 * The API's description (OpenAPI 3.1), made from the very schemas that requests are checked with. To be called once: it
 * adds to what the app has registered.
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
    info: { title: 'Mayfly', version, description: 'Disposable virtual machines for AI agents.' },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { apiKey: [] }],
  });
  return withPlainPatterns(document);
}

/**
 * A `pattern` in JSON Schema has no flags and is read as Unicode (JSON Schema 2020-12, core §6.4); what makes the
 * document appends those of the regular expression.
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
