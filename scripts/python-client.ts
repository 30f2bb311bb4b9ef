/**
 * `npm run client:python`: builds the Python package in dist/python, for programs elsewhere to install. Needs Python 3.11 with
 * venv; what it builds with goes to the cache, once, from the package registry.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApp } from '../api/app.ts';
import { openApiDocument } from '../api/description/openapi.ts';
import type { AppDeps } from '../api/http/context.ts';
import { repository } from '../worker/config/artifacts.mjs';
import { pythonTools } from './setup/python/python-tools.mjs';

const python = await pythonTools();
const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string };
// Only described, never asked.
const app = createApp({ store: {}, sagas: {}, logger: {}, version } as unknown as AppDeps);
const folder = join(repository, 'dist', 'python');
mkdirSync(join(repository, 'dist'), { recursive: true });
const scratch = mkdtempSync(join(repository, 'dist', 'openapi-'));
try {
  const document = join(scratch, 'openapi.json');
  writeFileSync(document, JSON.stringify(openApiDocument(app, version)));
  const build = join(repository, 'clients', 'python', 'build.py');
  execFileSync(python, ['-B', build, document, folder], { stdio: ['ignore', 'ignore', 'inherit'] });
} finally {
  rmSync(scratch, { recursive: true });
}
process.stdout.write(`mayfly-client ${version} is in ${folder}: pip install ${folder}\nbuilt with ${python}\n`);
