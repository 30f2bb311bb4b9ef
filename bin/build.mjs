// @ts-check
/** @module Makes the scripts that `program.mjs` loads. */
import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { repository } from '../worker/config/artifacts.mjs';
import { digestOf, manifestPath, stampOf } from './manifest.mjs';

/** Retention of outdated scripts for processes that still run, ms. */
const keptMs = 14 * 24 * 3_600_000;

/**
 * Packages bundled into the scripts: modules without native code, of many files each. The others are loaded from
 * node_modules.
 */
const inside = [
  'citty',
  'zod',
  'hono',
  '@hono/node-server',
  '@hono/zod-openapi',
  '@hono/zod-validator',
  '@asteasolutions/zod-to-openapi',
  '@noble/hashes',
];

/** Files that affect the scripts without being part of them. */
const recipe = ['bin/build.mjs', 'bin/manifest.mjs', 'package-lock.json'];

/**
 * @param {string} folder Of this repository's scripts, in the cache.
 * @param {string} name For a new folder in it.
 * @returns {Promise<string>} the new folder
 */
export async function build(folder, name) {
  const target = join(folder, name);
  await mkdir(target, { recursive: true, mode: 0o700 });
  await linkPackages(folder);
  /** @type {Record<string, string>} */
  const sources = Object.fromEntries(
    await Promise.all(recipe.map(async (path) => [path, digestOf(await readFile(join(repository, path)))])),
  );
  const inputs = await bundle(target, sources);
  const packages = Object.fromEntries(
    inputs.filter((path) => !(path in sources)).map((path) => [path, stampOf(join(repository, path))]),
  );
  const part = join(target, 'manifest.json');
  await writeFile(part, JSON.stringify({ build: name, sources, packages }), { mode: 0o600 });
  await rename(part, manifestPath(folder));
  await removeOld(folder, name);
  return target;
}

/**
 * @param {string} outdir
 * @param {Record<string, string>} sources Gets the digest of each source file as it was read.
 * @returns {Promise<string[]>} paths in the repository of all bundled files
 */
async function bundle(outdir, sources) {
  const esbuild = createRequire(createRequire(import.meta.url).resolve('tsx/package.json'))('esbuild');
  try {
    const { metafile } = await esbuild.build({
      entryPoints: [join(repository, 'cli', 'main.ts')],
      outdir,
      absWorkingDir: repository,
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      sourcemap: 'external',
      sourcesContent: false,
      metafile: true,
      logLevel: 'silent',
      tsconfigRaw: { compilerOptions: { target: 'ES2023', verbatimModuleSyntax: true } },
      plugins: [plugin(sources)],
    });
    return Object.keys(metafile.inputs);
  } finally {
    await esbuild.stop();
  }
}

/** @param {Record<string, string>} sources */
function plugin(sources) {
  return {
    name: 'mayfly',
    /** @param {import('esbuild').PluginBuild} build */
    setup(build) {
      build.onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
        const isInside = inside.some((name) => path === name || path.startsWith(`${name}/`));
        return isInside || kind === 'entry-point' ? undefined : { path, external: true };
      });
      build.onLoad({ filter: /\.(ts|mjs|json)$/ }, async ({ path }) => {
        if (path.includes('/node_modules/')) return undefined;
        const text = await readFile(path, 'utf8');
        sources[relative(repository, path)] = digestOf(text);
        const contents = text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
        return { contents, loader: path.endsWith('.ts') ? 'ts' : path.endsWith('.json') ? 'json' : 'js' };
      });
    },
  };
}

/** Links node_modules, since Node searches packages in the folders above a script. @param {string} folder */
async function linkPackages(folder) {
  const link = join(folder, 'node_modules');
  try {
    await symlink(join(repository, 'node_modules'), link);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
  }
}

/**
 * @param {string} folder
 * @param {string} name Of the current one.
 */
async function removeOld(folder, name) {
  const others = ['node_modules', basename(manifestPath(folder)), name];
  for (const other of (await readdir(folder)).filter((entry) => !others.includes(entry))) {
    const path = join(folder, other);
    const state = await stat(path).catch(() => null); // another process removes it as well
    if (state !== null && state.mtimeMs < Date.now() - keptMs) await rm(path, { recursive: true, force: true });
  }
}
