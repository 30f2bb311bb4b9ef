// @ts-check
/** @module Checks whether Mayfly can be loaded here: the version of Node, and the packages that set-up installs. */

/** @typedef {{ what: string, why: string, remedy: string }} Unready */

/** Oldest release of Node that runs Mayfly, as in package.json. */
const oldest = [20, 19];

/**
 * Describes a Node that is too old for the sources.
 * @param {string} version
 * @returns {Unready | null} null: it is new enough
 */
export function findOldNode(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [needed = 0, neededMinor = 0] = oldest;
  if (major > needed || (major === needed && minor >= neededMinor)) return null;
  return {
    what: `Node ${version} is too old`,
    why: `Mayfly needs Node ${oldest.join('.')} or later`,
    remedy: 'Install one, for example with `nvm install 22`.',
  };
}

/**
 * Describes the error of a fresh clone, or of one that lacks packages.
 * @param {unknown} error
 * @returns {Unready | null} null: it is another error
 */
export function findMissingPackage(error) {
  if (!(error instanceof Error)) return null;
  const { code } = /** @type {NodeJS.ErrnoException} */ (error);
  const [, name] = /^Cannot find (?:package|module) '([^'./][^']*)'/.exec(error.message) ?? [];
  if (name === undefined || (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND')) return null;
  return {
    what: 'Mayfly is not set up in this folder',
    why: `its package ${name} is not installed`,
    remedy: 'Run `sudo npm run setup`; for the command line alone, `npm ci --omit=dev --ignore-scripts`.',
  };
}

/**
 * Prints it as `mayfly` prints its errors, with `--json` also as the one document on stdout.
 * @param {Unready} unready
 * @param {string[]} argv
 */
export function printUnready({ what, why, remedy }, argv) {
  const exitCode = 2; // as in cli/terminal/cli-error.ts: the environment is not valid
  const end = argv.indexOf('--');
  const isJson = (end === -1 ? argv : argv.slice(0, end)).includes('--json');
  if (isJson) process.stdout.write(`${JSON.stringify({ error: { exitCode, what, why, remedy } })}\n`);
  process.stderr.write(`mayfly: ${what}\n  why:  ${why}\n  do:   ${remedy}\n`);
  process.exitCode = exitCode;
}
