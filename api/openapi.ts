import { MayflyError } from '../model/errors.ts';
import type { App } from './http/context.ts';

/** What generated clients call each operation. Names stay once they are given. */
const OPERATION_IDS: Readonly<Record<string, string>> = {
  'post /v1/sandboxes': 'createSandbox',
  'get /v1/sandboxes': 'listSandboxes',
  'get /v1/sandboxes/{id}': 'getSandbox',
  'patch /v1/sandboxes/{id}': 'updateSandbox',
  'delete /v1/sandboxes/{id}': 'destroySandbox',
  'get /v1/sandboxes/{id}/events': 'watchSandbox',
  'post /v1/sandboxes/{id}/pause': 'pauseSandbox',
  'post /v1/sandboxes/{id}/hibernate': 'hibernateSandbox',
  'post /v1/sandboxes/{id}/resume': 'resumeSandbox',
  'post /v1/sandboxes/{id}/snapshots': 'createSnapshot',
  'get /v1/sandboxes/{id}/snapshots': 'listSnapshots',
  'get /v1/snapshots/{id}': 'getSnapshot',
  'delete /v1/snapshots/{id}': 'deleteSnapshot',
  'get /v1/snapshots/{a}/diff/{b}': 'diffSnapshots',
  'post /v1/sandboxes/{id}/restore': 'restoreSandbox',
  'post /v1/sandboxes/{id}/credentials': 'issueCredential',
  'get /v1/sandboxes/{id}/credentials': 'listCredentials',
  'delete /v1/sandboxes/{id}/credentials': 'revokeCredentials',
  'delete /v1/sandboxes/{id}/credentials/{credential}': 'revokeCredential',
  'post /v1/sandboxes/{id}/commands': 'runCommand',
  'get /v1/sandboxes/{id}/commands': 'listCommands',
  'get /v1/sandboxes/{id}/commands/{commandId}': 'getCommand',
  'get /v1/sandboxes/{id}/commands/{commandId}/output': 'getCommandOutput',
  'post /v1/sandboxes/{id}/commands/{commandId}/cancel': 'cancelCommand',
  'post /v1/sandboxes/{id}/commands/{commandId}/stdin': 'writeCommandStdin',
  'get /v1/sandboxes/{id}/commands/{commandId}/events': 'followCommand',
  'get /v1/sandboxes/{id}/files/{path}': 'readFile',
  'put /v1/sandboxes/{id}/files/{path}': 'writeFile',
  'delete /v1/sandboxes/{id}/files/{path}': 'deleteFile',
  'get /v1/sandboxes/{id}/usage': 'getSandboxUsage',
  'get /v1/usage': 'getUsage',
  'get /v1/sandboxes/{id}/audit': 'getSandboxAudit',
  'get /v1/audit': 'getAudit',
  'get /v1/hosts': 'listHosts',
  'post /v1/sources/{name}/prepare': 'prepareSource',
  'post /v1/sources/{name}/unprepare': 'unprepareSource',
  'post /v1/sources/{name}/commands': 'runSourceCommand',
  'get /v1/sources/{name}/files/{path}': 'readSourceFile',
  'post /v1/sources': 'bakeSource',
  'get /v1/sources': 'listSources',
  'delete /v1/sources/{name}': 'deleteSource',
  'get /v1/sources/{name}': 'getSource',
  'get /v1/sources/{name}/audit': 'getSourceAudit',
  'post /v1/sources/{name}/captures': 'createCapture',
  'get /v1/sources/{name}/captures': 'listCaptures',
  'get /v1/captures/{id}': 'getCapture',
  'delete /v1/captures/{id}': 'deleteCapture',
  'post /v1/keys': 'createKey',
  'get /v1/keys': 'listKeys',
  'delete /v1/keys/{id}': 'revokeKey',
  'patch /v1/keys/{id}': 'updateKey',
};

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
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(item)) {
      const operationId = OPERATION_IDS[`${method} ${path}`];
      if (!operationId) throw new MayflyError('internal', `${method} ${path} has no operation id`);
      Object.assign(operation, { operationId });
    }
  }
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
