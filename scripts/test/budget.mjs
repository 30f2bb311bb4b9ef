// @ts-check
/** @module Processor time that `npm test` may take. */

/**
 * Limits in units: a unit is one processor second (user and system) of a fast machine, see reference-load.mjs. They may
 * only fall. `unitFile` is for a file of the project `unit`.
 */
export const LIMITS = { run: 600, file: 20, unitFile: 5 };

/** Number of the most expensive files that are shown. */
const SHOWN = 10;

/**
 * @typedef {object} Used
 * @property {Map<string, { project: string, cpuSeconds: number }>} files By path.
 * @property {number} cpuSeconds Of the whole run: files, servers, start-up and the runner.
 * @property {number} unit Processor seconds of this machine that are one unit.
 */

/**
 * @param {Used} used
 * @returns {string[]} lines for a person
 */
export function budgetLines({ files, cpuSeconds, unit }) {
  const units = (/** @type {number} */ seconds) => (seconds / unit).toFixed(1).padStart(7);
  /** @type {Map<string, number>} */
  const projects = new Map();
  for (const { project, cpuSeconds: own } of files.values()) projects.set(project, (projects.get(project) ?? 0) + own);
  const inFiles = [...projects.values()].reduce((sum, own) => sum + own, 0);
  projects.set('start-up and servers', cpuSeconds - inFiles);
  const dearest = [...files].toSorted(([, a], [, b]) => b.cpuSeconds - a.cpuSeconds).slice(0, SHOWN);
  return [
    `processor time in units (one is ${unit.toFixed(2)} s on this machine):`,
    ...[...projects].map(([project, own]) => `${units(own)}  ${project}`),
    `${units(cpuSeconds)}  in all, limit ${LIMITS.run}`,
    'dearest files:',
    ...dearest.map(([path, { cpuSeconds: own }]) => `${units(own)}  ${path}`),
  ];
}

/**
 * @param {Used} used
 * @returns {{ error: string, file: string }[]} exceeded limits; `file`: empty for the run
 */
export function overBudget({ files, cpuSeconds, unit }) {
  const over = (/** @type {string} */ file, /** @type {number} */ seconds, /** @type {number} */ limit) =>
    seconds / unit > limit
      ? [{ file, error: `${file || 'npm test'} took ${(seconds / unit).toFixed(1)} units, its limit is ${limit}` }]
      : [];
  return [
    ...over('', cpuSeconds, LIMITS.run),
    ...[...files].flatMap(([file, { project, cpuSeconds: own }]) =>
      over(file, own, project === 'unit' ? LIMITS.unitFile : LIMITS.file),
    ),
  ];
}
