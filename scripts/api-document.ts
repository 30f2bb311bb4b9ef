import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApp } from '../api/app.ts';
import { openApiDocument } from '../api/description/openapi.ts';
import type { AppDeps } from '../api/http/context.ts';
import { repository } from '../worker/config/artifacts.mjs';

export const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string };

/** Returns the API's OpenAPI document, from which both clients are generated. */
export function apiDocument() {
  // The app is only described, never called.
  const app = createApp({ store: {}, sagas: {}, logger: {}, version } as unknown as AppDeps);
  return openApiDocument(app, version);
}
