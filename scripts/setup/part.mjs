// @ts-check
/**
 * Common types and checks of set-up's parts.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, statfsSync } from 'node:fs';
import { cacheDir, onPath } from '../../worker/config/artifacts.mjs';

/**
 * @typedef {object} Job Context of making a part.
 * @property {AbortSignal} signal
 * @property {(text: string) => void} note Prints the current activity.
 */

/**
 * @typedef {object} State
 * @property {boolean} ready
 * @property {string} detail Present or missing things.
 */

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {() => State} look Returns the present state; changes nothing, and is quick.
 * @property {() => string[]} blockers Reasons why `make` would fail on this machine, each a sentence with its remedy.
 * @property {string} remedy Check after a failed download; continues "If a download failed,".
 * @property {readonly string[]} [needs] Prerequisites, made first if they are wanted.
 * @property {readonly string[]} [after] Parts that come first because both compute, or share results of the first.
 * @property {(job: Job) => Promise<void>} make Makes the missing things. Idempotent and safe to interrupt.
 */

/** Remedy of Go builds. */
export const goRemedy = 'check that Go reaches its module proxy (`go env GOPROXY`)';

/** Remedy of pip downloads. */
export const pipRemedy = 'check that pip reaches its package index (PIP_INDEX_URL, HTTPS_PROXY)';

/** Remedy of builds from Debian packages. */
export const aptRemedy = 'check that `apt-get update` succeeds';

const gibibyte = 1024 ** 3;

/** Temporary space of the largest build: sources, a root folder and the disk made from it. */
const neededBytes = 4 * gibibyte;

/** @type {(name: string, means: string) => string[]} */
const needRoot = (name, means) => [
  `${name} must be ${means} by root: run \`sudo npm run setup\`, or set MAYFLY_HOST=simulated to do without virtual machines.`,
];

/**
 * @param {string} name Action to do.
 * @param {string} means How, as a participle.
 * @returns {string[]}
 */
export function rootBlocker(name, means) {
  return process.getuid?.() === 0 ? [] : needRoot(name, means);
}

/** @returns {string[]} */
export function spaceBlocker() {
  mkdirSync(cacheDir(), { recursive: true, mode: 0o700 });
  const { bavail, bsize } = statfsSync(cacheDir());
  const free = bavail * bsize;
  if (free >= neededBytes) return [];
  return [
    `Only ${(free / gibibyte).toFixed(1)} GiB are free in ${cacheDir()} and building takes 4: free some, or name another place with \`export XDG_CACHE_HOME=…\`.`,
  ];
}

/**
 * @param {number} minor Least acceptable Go 1.x.
 * @param {string} what Result of the build.
 * @param {string} instead Alternative to that build.
 * @returns {string[]}
 */
export function goBlocker(minor, what, instead) {
  const remedy = `install Go 1.${minor} or newer and put its \`go\` on PATH, or ${instead}.`;
  const go = onPath('go');
  if (go === null) return [`Go is missing, and ${what} is built with it: ${remedy}`];
  const version = execFileSync(go, ['env', 'GOVERSION'], { encoding: 'utf8' }).trim();
  const found = Number(/^go1\.(\d+)/.exec(version)?.[1] ?? Number.POSITIVE_INFINITY);
  return found >= minor ? [] : [`${version} is too old to build ${what}: ${remedy}`];
}
