// @ts-check
/**
 * Test files, and the batches that one vitest runs in sequence.
 *
 * @module
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../../worker/config/artifacts.mjs';

/** @typedef {'e2e' | 'installation' | 'integration' | 'sagas' | 'unit'} Project As in vitest.config.ts. */
/**
 * @typedef {{ path: string, project: Project, seconds: number, isExtended: boolean, hasRest: boolean }} TestFile
 * `isExtended`: `npm test` leaves it out. `hasRest`: `npm test` leaves out some or all of its tests.
 */
/** @typedef {{ project: Project, files: TestFile[], seconds: number }} Batch */

/** Folder of the files that only `npm run test:all` runs, and CI while it has time. */
const EXTENDED = 'test/extended/';

/** Wall time of a file that is missing in times.json: it is short, or new. */
const UNMEASURED_SECONDS = 0.5;

/** Number of batches per project in `npm test`: a vitest takes 2 s to start, and 3 s more with servers. */
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
 * Distributes the files among the batches of their projects, so that those of one project take equally long.
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
