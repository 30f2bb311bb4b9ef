// @ts-check
/**
 * `npm run client`: builds the package `@mayfly/client` in dist/client, for programs elsewhere to install. It depends
 * only on Node, and contains only files reachable from its entry; its types come from the API's OpenAPI document.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { repository } from '../worker/config/artifacts.mjs';

const folder = join(repository, 'dist', 'client');
const { version, license, engines } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
const manifest = {
  name: '@mayfly/client',
  version,
  description: 'The HTTP API of Mayfly, typed: disposable virtual machines for AI agents',
  type: 'module',
  license,
  engines,
  sideEffects: false,
  files: ['clients', 'model', 'LICENSE'],
  exports: {
    '.': { types: './clients/typescript/package/package.d.ts', default: './clients/typescript/package/package.js' },
    './package.json': './package.json',
  },
  publishConfig: { access: 'public', provenance: true },
};

/**
 * Returns the files that a file imports, transitively.
 * @param {string} entry
 * @param {(path: string) => string} written path of the file for an import of `….js`
 * @param {Set<string>} [seen]
 */
function reached(entry, written, seen = new Set()) {
  if (seen.has(entry)) return seen;
  seen.add(entry);
  for (const [, name = ''] of readFileSync(entry, 'utf8').matchAll(/(?:from|import) ?\(?['"](\.[^'"]+)['"]/g)) {
    reached(written(resolve(dirname(entry), name)), written, seen);
  }
  return seen;
}

rmSync(folder, { recursive: true, force: true });
/** @type {(program: string, ...args: string[]) => void} */
const run = (program, ...args) =>
  void execFileSync(join(repository, 'node_modules', '.bin', program), args, { stdio: 'inherit', cwd: repository });
run('tsx', 'scripts/client-types.ts');
run('tsc', '--project', 'tsconfig.client.json');
for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.d.ts'),
)) {
  // tsc rewrites imports in programs, but not in declarations
  const path = join(folder, name);
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(['"]\.[^'"]+)\.ts(?=['"])/g, '$1.js'));
}
const wanted = new Set([
  ...reached(join(folder, 'clients', 'typescript', 'package', 'package.js'), (path) => path),
  ...reached(join(folder, 'clients', 'typescript', 'package', 'package.d.ts'), (path) =>
    path.replace(/\.js$/, '.d.ts'),
  ),
]);
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (entry.isFile() && !wanted.has(path)) rmSync(path);
}
copyFileSync(join(repository, 'LICENSE'), join(folder, 'LICENSE'));
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
process.stdout.write(`${manifest.name} ${version} is in ${folder}: npm install ${folder}\n`);
