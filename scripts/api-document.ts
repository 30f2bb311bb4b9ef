import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApp } from '../api/app.ts';
import { openApiDocument } from '../api/description/openapi.ts';
import type { AppDeps } from '../api/http/context.ts';
import { repository } from '../worker/config/artifacts.mjs';

export const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string };

/** Returns the API's description, which both clients are made from. */
export function apiDocument() {
  // Only described, never asked.
  const app = createApp({ store: {}, sagas: {}, logger: {}, version } as unknown as AppDeps);
  return openApiDocument(app, version);
}
