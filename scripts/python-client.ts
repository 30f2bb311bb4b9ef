/** `npm run client:python` builds the Python package in dist/python. Needs Python 3.11 with venv. @module */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../worker/config/artifacts.mjs';
import { apiDocument, version } from './api-document.ts';
import { pythonTools } from './setup/python/python-tools.mjs';

const python = await pythonTools();
const folder = join(repository, 'dist', 'python');
mkdirSync(join(repository, 'dist'), { recursive: true });
const scratch = mkdtempSync(join(repository, 'dist', 'openapi-'));
try {
  const document = join(scratch, 'openapi.json');
  writeFileSync(document, JSON.stringify(apiDocument()));
  const build = join(repository, 'clients', 'python', 'build.py');
  execFileSync(python, ['-B', build, document, folder], { stdio: ['ignore', 'ignore', 'inherit'] });
} finally {
  rmSync(scratch, { recursive: true });
}
process.stdout.write(`mayfly-client ${version} is in ${folder}: pip install ${folder}\nbuilt with ${python}\n`);
