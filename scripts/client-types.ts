/**
 * Generates clients/typescript/http/openapi.ts, the types of the TypeScript client, from the API's OpenAPI document.
 * Set-up, `npm run types` and `npm run client` run this script.
 *
 * @module
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import { repository } from '../worker/config/artifacts.mjs';
import { apiDocument } from './api-document.ts';

/** Keywords that check values without affecting their types. */
const CHECKS = [
  'example',
  'examples',
  'dependentRequired',
  'dependentSchemas',
  'not',
  'format',
  'pattern',
  'headers',
  'prefixItems',
];

/** Returns a part of the document without checks, which would become types that no value has. */
function withoutChecks<T>(value: T, areProperties = false): T {
  if (Array.isArray(value)) return value.map((each) => withoutChecks(each)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const isCheck = (name: string) => CHECKS.includes(name) || (name === 'oneOf' && 'properties' in value);
  const entries = Object.entries(value).filter(([name]) => areProperties || !isCheck(name));
  return Object.fromEntries(entries.map(([name, inner]) => [name, withoutChecks(inner, name === 'properties')])) as T;
}

const document = withoutChecks(apiDocument()) as OpenAPI3;
for (const { responses = {} } of Object.values(document.paths ?? {}).flatMap((item) => Object.values(item))) {
  for (const status of Object.keys(responses)) if (status >= '300') delete responses[status];
}
const types = await openapiTS(document, {
  defaultNonNullable: false,
  rootTypes: true,
  rootTypesNoSchemaPrefix: true,
});
writeFileSync(join(repository, 'clients', 'typescript', 'http', 'openapi.ts'), astToString(types));
