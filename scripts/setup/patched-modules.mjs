// @ts-check
/**
 * @module Go modules with changed lines and added files, for a build; a project's patches.json lists them with reasons.
 */
import { existsSync } from 'node:fs';
import { chmod, copyFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SetupProblem } from './problem.mjs';
import { run } from './run.mjs';

/** @typedef {{ module: string, file: string, line: string, becomes: string }} Change */
/** @typedef {{ module: string, file: string, from: string }} Addition `from`: a file of the project. */

/**
 * Copies each module, changes it, and writes a go.mod that builds with the copies. Leaves the module cache unchanged,
 * since go.sum verifies it.
 * @param {object} options
 * @param {string} options.project Folder with go.mod, go.sum and patches.json.
 * @param {string} options.scratch Empty folder for the copies.
 * @param {AbortSignal} options.signal
 * @returns {Promise<string>} path for `go build -modfile`
 */
export async function patchedModfile({ project, scratch, signal }) {
  const modfile = join(scratch, 'go.mod');
  await copyFile(join(project, 'go.mod'), modfile);
  await copyFile(join(project, 'go.sum'), join(scratch, 'go.sum'));
  /** @type {(Change | Addition)[]} */
  const patches = JSON.parse(await readFile(join(project, 'patches.json'), 'utf8'));
  const modules = new Set(patches.map(({ module }) => module));
  for (const [index, module] of [...modules].entries()) {
    const copy = join(scratch, `module-${index}`);
    await cp(await moduleFolder(module, project, signal), copy, { recursive: true });
    for (const patch of patches.filter((one) => one.module === module)) {
      if ('from' in patch) await addFile(copy, project, patch);
      else await changeLines(copy, patch);
    }
    const replace = `-replace=${module}=${copy}`;
    await run(['go', 'mod', 'edit', replace, modfile], { signal, cwd: project });
  }
  return modfile;
}

/**
 * Downloads the version of go.mod, and returns its folder in the module cache.
 * @param {string} module
 * @param {string} project
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
async function moduleFolder(module, project, signal) {
  await run(['go', 'mod', 'download', module], { signal, cwd: project });
  /** @type {string[]} */
  const lines = [];
  await run(['go', 'list', '-m', '-f', '{{.Dir}}', module], {
    signal,
    cwd: project,
    onLine: (line) => lines.push(line),
  });
  const [folder] = lines;
  if (!folder)
    throw new SetupProblem(`Go did not say where it has ${module}; try \`go clean -modcache\` and run set-up again`);
  return folder;
}

/**
 * @param {string} folder Of the module's copy; the cache it came from is read-only.
 * @param {string} project
 * @param {Addition} addition
 */
async function addFile(folder, project, { file, from }) {
  const path = join(folder, file);
  if (existsSync(dirname(path))) await chmod(dirname(path), 0o755);
  else await makeFolder(dirname(path));
  await copyFile(join(project, from), path);
}

/**
 * Makes a folder in a read-only folder copied from the module cache.
 * @param {string} path
 */
async function makeFolder(path) {
  await chmod(dirname(path), 0o755);
  await mkdir(path);
}

/**
 * @param {string} folder Of the module's copy.
 * @param {Change} change
 */
async function changeLines(folder, { module, file, line, becomes }) {
  const path = join(folder, file);
  const before = await readFile(path, 'utf8');
  if (before.split(line).length !== 2) throw new SetupProblem(`${module}/${file} is not as patches.json expects it`);
  await chmod(path, 0o644);
  await writeFile(
    path,
    before.replace(line, () => becomes),
  );
}
