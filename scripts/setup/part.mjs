// @ts-check
/**
 * What every part of set-up has in common.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, statfsSync } from 'node:fs';
import { cacheDir, onPath } from '../../worker/config/artifacts.mjs';

/**
 * @typedef {object} Job What a part gets to work with.
 * @property {AbortSignal} signal
 * @property {(text: string) => void} note Tells the person what is happening now.
 */

/**
 * @typedef {object} State
 * @property {boolean} ready
 * @property {string} detail What is there, or what is missing.
 */

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {() => State} look Says what is there; changes nothing, and is quick.
 * @property {() => string[]} blockers Why `make` could not succeed on this machine, each a sentence with its remedy.
 * @property {string} remedy What to check when `make` fails in a download; goes on from "If a download failed,".
 * @property {readonly string[]} [needs] Parts without which it cannot be made, where they are wanted too.
 * @property {readonly string[]} [after] Parts that come first because both compute, or share what the first leaves.
 * @property {(job: Job) => Promise<void>} make Makes what `look` found missing. Safe to repeat, safe to interrupt.
 */

/** The remedy of what Go builds. */
export const goRemedy = 'check that Go reaches its module proxy (`go env GOPROXY`)';

/** The remedy of what pip downloads. */
export const pipRemedy = 'check that pip reaches its package index (PIP_INDEX_URL, HTTPS_PROXY)';

/** The remedy of what is made of Debian packages. */
export const aptRemedy = 'check that `apt-get update` succeeds';

const gibibyte = 1024 ** 3;

/** What the largest build needs for a while: sources, a root folder and the disk made from it. */
const neededBytes = 4 * gibibyte;

/** @type {(name: string, means: string) => string[]} */
const needRoot = (name, means) => [
  `${name} must be ${means} by root: run \`sudo npm run setup\`, or set MAYFLY_HOST=simulated to do without virtual machines.`,
];

/**
 * @param {string} name What is to be done.
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
 * @param {string} what What is built with it.
 * @param {string} instead What makes that build unnecessary.
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
