import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programFolder } from '../../../bin/manifest.mjs';
import manifestOfPackage from '../../../package.json' with { type: 'json' };
import { sweep } from '../../support/sweep.ts';

const MAYFLY = fileURLToPath(new URL('../../../bin/mayfly', import.meta.url));

let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'mayfly-program-'));
  await run(['--version']);
});
afterAll(() => rm(root, { recursive: true }));

function run(args: string[], cache = root, more = {}): Promise<{ stdout: string; stderr: string }> {
  const env = { ...process.env, XDG_CACHE_HOME: cache, MAYFLY_DEBUG: '1', ...more };
  return new Promise((resolve) => {
    execFile(process.execPath, [MAYFLY, ...args], { env }, (_error, stdout, stderr) => resolve({ stdout, stderr }));
  });
}

const manifestPath = () => join(programFolder(join(root, 'mayfly')), 'manifest.json');
const readManifest = async () => JSON.parse(await readFile(manifestPath(), 'utf8'));
const version = `${manifestOfPackage.version}\n`;

describe('bin/mayfly', () => {
  it('keeps the scripts that it was made into, for as long as no source changes', async () => {
    expect(await run(['--version'])).toEqual({ stdout: version, stderr: '' });
    const made = await readManifest();
    expect(await run(['--version'])).toEqual({ stdout: version, stderr: '' });
    expect(await readManifest()).toEqual(made);
  });

  sweep<readonly [string, { build?: string; sources?: object; packages?: object }]>([
    ['a source has changed', { sources: { 'cli/main.ts': 'another' } }],
    ['a file of a package has changed', { packages: { 'node_modules/citty/dist/index.mjs': 'another' } }],
    ['a source is gone', { sources: { 'cli/gone.ts': 'it was' } }],
    ['its scripts are gone', { build: 'gone' }],
  ])('makes them anew when %s', async ([, change]) => {
    const made = await readManifest();
    const sources = { ...made.sources, ...change.sources };
    const packages = { ...made.packages, ...change.packages };
    await writeFile(manifestPath(), JSON.stringify({ ...made, ...change, sources, packages }));
    expect(await run(['--version'])).toEqual({ stdout: version, stderr: '' });
    const anew = await readManifest();
    expect(anew.build).not.toBe(made.build);
    expect(anew.sources).toEqual(made.sources);
    expect(anew.packages).toEqual(made.packages);
  });

  it('makes them anew when what says of what they are made cannot be read', async () => {
    await writeFile(manifestPath(), '{');
    expect(await run(['--version'])).toEqual({ stdout: version, stderr: '' });
    expect(Object.keys((await readManifest()).sources)).toContain('cli/main.ts');
  });

  it('names its sources in stack traces', async () => {
    const { stderr } = await run(['sandbox', 'get', 'X']);
    const [, line] = /\/cli\/terminal\/arguments\.ts:(\d+):\d+/.exec(stderr) ?? [];
    const source = await readFile(
      fileURLToPath(new URL('../../../cli/terminal/arguments.ts', import.meta.url)),
      'utf8',
    );
    expect(source.split('\n')[Number(line) - 1]).toContain('usageError');
  });

  it('makes no home where there is none', async () => {
    const home = join(root, 'no-home');
    expect(await run(['--version'], '', { HOME: home })).toEqual({ stdout: version, stderr: '' });
    expect(existsSync(home)).toBe(false);
  });

  it('runs where nothing can be kept', async () => {
    const file = join(root, 'no-folder');
    await writeFile(file, '');
    const { stdout, stderr } = await run(['--version'], file);
    expect(stdout).toBe(version);
    expect(stderr).toContain('ENOTDIR');
  });
});
