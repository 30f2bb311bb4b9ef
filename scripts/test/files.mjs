// @ts-check
/**
 * The test files, and which of them one vitest runs one after another.
 *
 * @module
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../../worker/config/artifacts.mjs';

/** @typedef {'e2e' | 'installation' | 'integration' | 'sagas' | 'unit'} Project As in vitest.config.ts. */
/** @typedef {{ path: string, project: Project, seconds: number, isExtended: boolean, hasRest: boolean }} TestFile
 * `isExtended`: `npm test` leaves it out. `hasRest`: `npm test` leaves something of it out, or all. */
/** @typedef {{ project: Project, files: TestFile[], seconds: number }} Batch */

/** Folder of the files that only `npm run test:all` runs, and CI for as long as it has time. */
const EXTENDED = 'test/extended/';

/** Wall time of a file that times.json does not have: it is short, or new. */
const UNMEASURED_SECONDS = 0.5;

/** A vitest takes 2 s to start, and 3 s more with servers: so many of each project share the files of `npm test`. */
const BATCHES = { e2e: 1, installation: 1, integration: 3, sagas: 3, unit: 2 };

/**
 * @param {string} path
 * @returns {Project}
 */
function projectOf(path) {
  if (/^test\/(extended\/)?workflows\/.*\.integration\.test\.ts$/.test(path)) return 'sagas';
  const [, suffix] = /\.(e2e|installation|integration)\.test\.ts$/.exec(path) ?? [];
  return /** @type {Project | undefined} */ (suffix) ?? 'unit';
}

/** @returns {TestFile[]} every test file of the repository */
export function testFiles() {
  /** @type {Record<string, number>} */
  const times = JSON.parse(readFileSync(join(repository, 'scripts', 'test', 'times.json'), 'utf8'));
  return readdirSync(join(repository, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .sort()
    .map((name) => {
      const path = join('test', name);
      const isExtended = path.startsWith(EXTENDED);
      const sweeps = /^import .*\b(sweep|sweepOn)\b.* from '[./]*support\/sweep\.ts';$/m;
      const hasRest = isExtended || sweeps.test(readFileSync(join(repository, path), 'utf8'));
      return { path, project: projectOf(path), seconds: times[path] ?? UNMEASURED_SECONDS, isExtended, hasRest };
    });
}

/**
 * Shares the files among the batches of their projects, so that those of one project last alike.
 * @param {TestFile[]} files
 * @returns {Batch[]} the longest first
 */
export function batchesOf(files) {
  /** @type {Batch[]} */
  const batches = [];
  for (const file of files.toSorted((a, b) => b.seconds - a.seconds)) {
    const own = batches.filter(({ project }) => project === file.project);
    const [shortest] = own.toSorted((a, b) => a.seconds - b.seconds);
    if (shortest && own.length >= BATCHES[file.project]) {
      shortest.files.push(file);
      shortest.seconds += file.seconds;
    } else batches.push({ project: file.project, files: [file], seconds: file.seconds });
  }
  return batches.toSorted((a, b) => b.seconds - a.seconds);
}
