// @ts-check
/**
 * The test files, and which of them one vitest runs one after another.
 *
 * @module
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository, storeBinary, storeCachePath } from '../../worker/config/artifacts.mjs';

/** @typedef {'e2e' | 'integration' | 'sagas' | 'replay' | 'unit'} Project As in vitest.config.ts. */
/** @typedef {{ path: string, project: Project, seconds: number, isFull: boolean, hasRest: boolean }} TestFile
 * `isFull`: the quick tier has nothing to run in it. `hasRest`: the quick tier leaves something out of it. */
/** @typedef {{ project: Project, files: TestFile[], seconds: number }} Batch */

/** What is not measured yet is taken to last so long. */
const unmeasuredSeconds = 10;

/**
 * A vitest needs about 2 s to start, with the servers of its project 3 s. Files are put together until they last so long,
 * so that lanes end at the same time; sagas less long, since lanes share them at the end. A VM file has a vitest, a network
 * namespace and a folder of its own.
 */
const batchSeconds = { e2e: 0, integration: 250, sagas: 80, replay: 250, unit: 250 };

const embeddedTests = 'test/store/embedded.';
const timesPath = join(repository, 'scripts', 'test', 'times.json');

/** @returns {Record<string, number>} seconds by file, with three lanes side by side; of what the quick tier leaves out, in the full one */
export function measuredTimes() {
  return JSON.parse(readFileSync(timesPath, 'utf8'));
}

/**
 * @param {string} path
 * @returns {Project}
 */
function projectOf(path) {
  if (/^test\/workflows\/.*\.integration\.test\.ts$/.test(path)) return 'sagas';
  const [, suffix] = /\.(e2e|integration|replay)\.test\.ts$/.exec(path) ?? [];
  return /** @type {Project | undefined} */ (suffix) ?? 'unit';
}

/**
 * Every test file of the repository but those that are switched off.
 * @param {NodeJS.ProcessEnv} env
 * @returns {{ files: TestFile[], notRun: string }} `notRun` says what is switched off
 */
export function testFiles(env) {
  const off = (env['MAYFLY_TEST_OFF'] ?? '').split(',').filter((name) => name !== '');
  if (isWithoutEmbedded(env)) off.push(embeddedTests);
  const isOff = (/** @type {TestFile} */ { path, project }) =>
    off.includes(project) || (off.includes(embeddedTests) && path.startsWith(embeddedTests));
  return { files: allFiles().filter((file) => !isOff(file)), notRun: off.join(', ') };
}

/**
 * Set-up builds no embedded store where another server is given: then there is nothing for its tests to test.
 * @param {NodeJS.ProcessEnv} env
 */
function isWithoutEmbedded(env) {
  return !existsSync(storeCachePath()) && (storeBinary() !== null || Boolean(env['MONGODB_URI']));
}

/** @returns {TestFile[]} */
function allFiles() {
  const times = measuredTimes();
  return readdirSync(join(repository, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .sort()
    .map((name) => {
      const path = join('test', name);
      const text = readFileSync(join(repository, path), 'utf8');
      const { isFull, uses } = tiersIn(text);
      const hasRest = isFull || /\b(sweep|sweepOn|FULL)\b/.test(uses);
      return { path, project: projectOf(path), seconds: times[path] ?? unmeasuredSeconds, isFull, hasRest };
    });
}

/**
 * What a test file says of the tiers that it runs in.
 * @param {string} text
 * @returns {{ isFull: boolean, uses: string }} `isFull`: the quick tier leaves all of it out. `uses`: what it has of
 * test/support/sweep.ts
 */
export function tiersIn(text) {
  const [, uses = ''] = /^import \{(.*)\} from '[./]*support\/sweep\.ts';$/m.exec(text) ?? [];
  return { isFull: /^\/\/ @module-tag full$/m.test(text), uses };
}

/**
 * Puts files together into batches, the longest first.
 * @param {TestFile[]} files
 * @returns {Batch[]}
 */
export function batchesOf(files) {
  /** @type {Batch[]} */
  const batches = [];
  for (const file of files.toSorted((a, b) => b.seconds - a.seconds)) {
    const limit = batchSeconds[file.project];
    const batch = batches.find((one) => one.project === file.project && one.seconds + file.seconds <= limit);
    if (batch) {
      batch.files.push(file);
      batch.seconds += file.seconds;
    } else batches.push({ project: file.project, files: [file], seconds: file.seconds });
  }
  return batches.toSorted((a, b) => b.seconds - a.seconds);
}
