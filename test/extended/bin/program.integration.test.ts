import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { programFolder } from '../../../bin/manifest.mjs';
import manifestOfPackage from '../../../package.json' with { type: 'json' };
import { sweep } from '../../support/sweep.ts';
import { useFolder } from '../../support/use-folder.ts';

const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url));
const MAYFLY = join(REPOSITORY, 'bin', 'mayfly');

const root = useFolder();

beforeAll(async () => {
  await run(['--version']);
});

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

function run(args: string[], cache = root, more = {}, program = MAYFLY): Promise<Ended> {
  const env = { ...process.env, XDG_CACHE_HOME: cache, MAYFLY_DEBUG: '1', ...more };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [program, ...args], { env }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

const manifestPath = () => join(programFolder(join(root, 'mayfly')), 'manifest.json');
const readManifest = async () => JSON.parse(await readFile(manifestPath(), 'utf8'));
const version = `${manifestOfPackage.version}\n`;

describe('bin/mayfly', () => {
  it('keeps its compiled scripts while no source changes', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, stdout: version, stderr: '' });
    const made = await readManifest();
    expect(await run(['--version'])).toEqual({ code: 0, stdout: version, stderr: '' });
    expect(await readManifest()).toEqual(made);
  });

  sweep<readonly [string, { build?: string; sources?: object; packages?: object }]>([
    ['a source has changed', { sources: { 'cli/main.ts': 'another' } }],
    ['a file of a package has changed', { packages: { 'node_modules/citty/dist/index.mjs': 'another' } }],
    ['a source is gone', { sources: { 'cli/gone.ts': 'it was' } }],
    ['its scripts are gone', { build: 'gone' }],
  ])('compiles again when %s', async ([, change]) => {
    const made = await readManifest();
    const sources = { ...made.sources, ...change.sources };
    const packages = { ...made.packages, ...change.packages };
    await writeFile(manifestPath(), JSON.stringify({ ...made, ...change, sources, packages }));
    expect(await run(['--version'])).toEqual({ code: 0, stdout: version, stderr: '' });
    const anew = await readManifest();
    expect(anew.build).not.toBe(made.build);
    expect(anew.sources).toEqual(made.sources);
    expect(anew.packages).toEqual(made.packages);
  });

  it('compiles again when its manifest is unreadable', async () => {
    await writeFile(manifestPath(), '{');
    expect(await run(['--version'])).toEqual({ code: 0, stdout: version, stderr: '' });
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

  it('creates no missing home folder', async () => {
    const home = join(root, 'no-home');
    expect(await run(['--version'], '', { HOME: home })).toEqual({ code: 0, stdout: version, stderr: '' });
    expect(existsSync(home)).toBe(false);
  });

  it('explains the set-up in a fresh clone, in one format for people and programs', async () => {
    const clone = join(root, 'clone');
    const wanted = ['bin', 'cli', 'clients', 'model', 'worker', 'package.json', 'package-lock.json', 'tsconfig.json'];
    for (const name of wanted) await cp(join(REPOSITORY, name), join(clone, name), { recursive: true });
    const program = join(clone, 'bin', 'mayfly');
    for (const args of [[], ['--help'], ['up'], ['sandbox', 'list']]) {
      const { code, stdout, stderr } = await run(args, join(root, 'fresh'), { MAYFLY_DEBUG: '' }, program);
      expect([args, code, stdout]).toEqual([args, 2, '']);
      expect(stderr).toMatch(/^mayfly: .* not set up .*\n {2}why: {2}.*not installed\n {2}do: {3}.*npm run setup.*\n$/);
    }
    const asJson = await run(['sandbox', 'list', '--json'], join(root, 'fresh'), { MAYFLY_DEBUG: '' }, program);
    expect(JSON.parse(asJson.stdout)).toEqual({ error: expect.objectContaining({ exitCode: 2 }) });
    // packages missing from a partial installation are named as well
    await mkdir(join(clone, 'node_modules'));
    for (const name of ['tsx', 'esbuild', '@esbuild', 'get-tsconfig', 'resolve-pkg-maps', 'citty']) {
      const from = join(REPOSITORY, 'node_modules', name);
      if (existsSync(from)) await symlink(from, join(clone, 'node_modules', name));
    }
    const partly = await run(['sandbox', 'list'], join(root, 'fresh'), { MAYFLY_DEBUG: '' }, program);
    expect([partly.code, partly.stderr]).toEqual([
      2,
      expect.stringMatching(/package (zod|hono|@)\S* is not installed/),
    ]);
  });

  it.each([[['--help']], [['rnu']], [[]], [['--version']]])('loads no command for %j', async (args) => {
    const hook = join(REPOSITORY, 'test', 'support', 'loaded-files.mjs');
    const { stderr } = await run(args, root, {
      NODE_OPTIONS: `--import ${pathToFileURL(hook).href}`,
      MAYFLY_DEBUG: '',
    });
    expect(Number(/loaded (\d+) files/.exec(stderr)?.[1])).toBeLessThan(25);
  });

  it('runs without a writable cache', async () => {
    const file = join(root, 'no-folder');
    await writeFile(file, '');
    const { stdout, stderr } = await run(['--version'], file);
    expect(stdout).toBe(version);
    expect(stderr).toContain('ENOTDIR');
  });
});
