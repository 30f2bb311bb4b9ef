import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type Logger, type WorkflowBundle } from '@temporalio/worker';
import { repository, workflowBundlePath, workflowFolders } from './config/artifacts.mjs';
import { FAILURE_CONVERTER } from './payloads/data-converter.ts';

/** Retention of bundles of other sources, since one may return to them, ms. */
const RETENTION_MS = 14 * 24 * 3_600_000;

/**
 * Bundles the workflows into one script for workers and the replayer. Bundling takes a second or more and 150 MB, so
 * the cache keeps the result under the digest of its sources.
 */
export async function bundleWorkflows(
  logger: Logger,
  interceptorModules: readonly string[] = [],
): Promise<WorkflowBundle> {
  const path = workflowBundlePath(interceptorModules);
  if (existsSync(path)) return { code: await readFile(path, 'utf8') };
  const workflowsPath = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));
  const own = ['refused-payloads', 'cancellation', 'request-id', 'local-activities'].map((name) =>
    fileURLToPath(new URL(`../workflows/saga/${name}.ts`, import.meta.url)),
  );
  const workflowInterceptorModules = [...own, ...interceptorModules];
  const bundled = await bundleWorkflowCode({
    workflowsPath,
    workflowInterceptorModules,
    preloadModules: [workflowsPath],
    failureConverterPath: FAILURE_CONVERTER,
    logger,
  });
  const code = slim(bundled.code);
  // A bundle of sources that changed while it was made is not cached.
  if (workflowBundlePath(interceptorModules) !== path) return { code };
  try {
    await writeToCache(path, code);
  } catch (error) {
    logger.warn('the workflows are bundled anew at each start, because the cache cannot be written', { err: error });
  }
  return { code };
}

const MAP = /(?<=\n\/\/# sourceMappingURL=data:application\/json;[^,]*base64,)[^\n]+(?=\s*$)/;

/**
 * Halves the bundle without the sources in its source map, and halves it again as one-byte characters: each worker
 * holds it several times in memory.
 */
function slim(code: string): string {
  const escaped = code.replace(/[^\0-\xff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const { sourcesContent: _, ...map } = JSON.parse(Buffer.from(MAP.exec(code)?.[0] ?? '', 'base64').toString());
  assertCoveredSources(map.sources);
  return escaped.replace(MAP, () => Buffer.from(JSON.stringify(map)).toString('base64'));
}

/** @throws Error when a bundle includes folders that the digest does not cover: their changes would go unnoticed */
function assertCoveredSources(sources: string[]): void {
  const strange = sources
    .filter((source) => source.startsWith(`${repository}/`) && !source.includes('/node_modules/'))
    .map((source) => relative(repository, source))
    .filter((source) => !workflowFolders.some((folder) => source.startsWith(`${folder}/`)));
  if (strange.length > 0)
    throw new Error(`workflows are made of ${workflowFolders.join(' and ')} alone, not of ${strange.join(', ')}`);
}

/** Writes the bundle atomically, also when several processes write it at once. */
async function writeToCache(path: string, code: string): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    const other = join(folder, name);
    const { mtimeMs } = await stat(other);
    if (mtimeMs < Date.now() - RETENTION_MS) await rm(other, { force: true });
  }
  const part = `${path}.${process.pid}`;
  await writeFile(part, code, { mode: 0o600 });
  await rename(part, path);
}
