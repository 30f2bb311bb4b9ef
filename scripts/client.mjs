// @ts-check
/**
 * `npm run client`: builds the package `mayfly-client` in dist/client, for programs elsewhere to install. It depends on
 * nothing but Node.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../worker/config/artifacts.mjs';

const folder = join(repository, 'dist', 'client');
const { version, license, engines } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
const manifest = {
  name: 'mayfly-client',
  version,
  description: 'The HTTP API of Mayfly, typed',
  type: 'module',
  license,
  engines,
  exports: { '.': './client/mayfly-client.js', './errors': './client/http/api-error.js' },
};

rmSync(folder, { recursive: true, force: true });
execFileSync(join(repository, 'node_modules', '.bin', 'tsc'), ['--project', join(repository, 'tsconfig.client.json')], {
  stdio: 'inherit',
});
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
process.stdout.write(`mayfly-client ${version} is in ${folder}: npm install ${folder}\n`);
