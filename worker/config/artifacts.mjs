// @ts-check
/**
 * Paths of everything that set-up builds; only this module knows the cache's layout.
 *
 * ```
 * <cache>/temporal/<digest of go/dev-server>/temporal
 * <cache>/store/<digest of go/store>/mayfly-store
 * <cache>/guest/<digests of go/agent, go/gate, go/root and go/readonly>/{mayfly-agent,mayfly-gate,mayfly-root}
 * <cache>/diff/<digest of go/diff>/mayfly-diff
 * <cache>/ansible/<digest of its script>/{ansible.tar.gz,version}
 * <cache>/images/<name>/<digest of its part of images and of the agent>/{disk.qcow2,vmlinux,initrd,image.json}
 * ```
 * `golden-debian12` is one of these; every other image is built on demand (`mayfly image pull`).
 * Two things are built when they are first needed, by bin/program.mjs and worker/bundle.ts:
 * ```
 * <cache>/program/<digest of the repository's path>/{manifest.json,<build>/main.js}
 * <cache>/workflows/<digest of workflows, model and packages>.js
 * ```
 * A version's folder appears by rename, so it is always complete. A changed source changes the digest, thus the
 * version.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repository = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Images that `images/build.sh` can build, by their names as sources; set-up builds the first. */
export const imageNames = /** @type {const} */ (['golden-debian12', 'golden-agent', 'desktop-debian12']);

/** @typedef {typeof imageNames[number]} ImageName */

/**
 * Returns an image's short name, also the suffix of files that only this image has: `agent`, `desktop`.
 * @param {ImageName} name
 * @returns {string}
 */
export function shortImageName(name) {
  return name.replace('golden-', '').replace('-debian12', '');
}

/** Images built on demand; model/image/own-images.ts lists them for the API. */
export const pulledImages = imageNames.slice(1);

/**
 * @typedef {object} GoldenImage Result of `images/build.sh`.
 * @property {string} dir Folder of the files below.
 * @property {string} disk Root disk, qcow2; never to be written to.
 * @property {string} kernel Kernel to boot directly.
 * @property {string} initrd Initial RAM disk that goes with the kernel.
 * @property {ImageName} name Name of the image, as a source.
 * @property {string} digest `sha256:` and the digest of the disk file.
 * @property {number} diskBytes Size of the disk file.
 * @property {number} virtualBytes Size of the disk that a guest sees.
 * @property {string} kernelVersion For example `6.1.0-56-amd64`.
 * @property {string} kernelCommandLine Kernel command line.
 * @property {string} builtAt ISO 8601.
 * @property {Record<string, string>} packages Version of every Debian package, by name.
 * @property {Record<string, string>} npmPackages Version of every npm package that Node.js was built of, by name.
 */

/** @typedef {{ kind: 'mongod' | 'embedded', path: string }} StoreBinary */

/**
 * @typedef {object} GuestBinaries Static programs for every Linux guest of this architecture.
 * @property {string} agent Path; runs in sandboxes.
 * @property {string} gate Path; runs on sources that are inspected.
 * @property {string} root Path; runs in the sandbox of a build that begins at a root file system.
 * @property {string} version Version that the agent reports.
 */

/**
 * Returns the folder of everything that set-up builds.
 * @returns {string}
 */
export function cacheDir() {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'mayfly');
}

/** @returns {string} path of the Temporal CLI, installed or not */
export function temporalCachePath() {
  return join(cacheDir(), 'temporal', sourceDigest(join(repository, 'go', 'dev-server'), /_test\.go$/), 'temporal');
}

/** @returns {string} path of the embedded store, built or not */
export function storeCachePath() {
  const digest = sourceDigest(join(repository, 'go', 'store'), /_test\.go$/);
  return join(cacheDir(), 'store', digest, 'mayfly-store');
}

/**
 * Returns the version that agent and gate report, and that the host expects of an agent. Covers only the agent's
 * sources: the golden image contains the agent, and needs no rebuild for another gate.
 * @returns {string}
 */
export function guestVersion() {
  return sourceDigest(join(repository, 'go', 'agent'), /_test\.go$/);
}

/** @returns {string} folder of the agent and the gate, built or not */
export function guestCachePath() {
  const digests = ['agent', 'gate', 'root', 'readonly'].map((folder) =>
    sourceDigest(join(repository, 'go', folder), /_test\.go$/),
  );
  return join(cacheDir(), 'guest', digests.join('-'));
}

/** @returns {string} version that the program that compares file systems reports */
export function diffVersion() {
  return sourceDigest(join(repository, 'go', 'diff'), /_test\.go$/);
}

/** @returns {string} folder of the program that compares file systems, built or not */
export function diffCachePath() {
  return join(cacheDir(), 'diff', diffVersion());
}

/**
 * @param {ImageName} name
 * @returns {string} folder of that image, built or not
 */
export function imageCachePath(name) {
  return join(cacheDir(), 'images', name, imageDigest(name, join(repository, 'images')));
}

/**
 * Returns the digest of an image's sources: the folder without files and folders whose suffix belongs to other images
 * (`packages.agent`, `root.desktop`).
 * @param {ImageName} name
 * @param {string} folder
 * @returns {string}
 */
export function imageDigest(name, folder) {
  const others = imageNames.filter((other) => other !== name).map(shortImageName);
  return createHash('sha256')
    .update(sourceDigest(folder, new RegExp(String.raw`\.md$|^[^/]*\.(${others.join('|')})(/|$)`)))
    .update(guestVersion())
    .digest('hex')
    .slice(0, 16);
}

/** Folders of the repository that workflows may import from, besides packages. */
export const workflowFolders = /** @type {const} */ (['workflows', 'model']);

/**
 * @param {readonly string[]} [interceptorModules] further modules of the bundle
 * @returns {string} path of the script with all workflows, bundled or not
 */
export function workflowBundlePath(interceptorModules = []) {
  const hash = createHash('sha256');
  for (const folder of workflowFolders) hash.update(sourceDigest(join(repository, folder), /\.md$/));
  for (const file of ['package-lock.json', 'worker/bundle.ts']) hash.update(readFileSync(join(repository, file)));
  for (const path of interceptorModules) hash.update(relative(repository, path));
  return join(cacheDir(), 'workflows', `${hash.digest('hex').slice(0, 16)}.js`);
}

/**
 * Returns the Temporal CLI for a development server: the pinned version, not one on PATH.
 * @returns {string | null} null when set-up has not run
 */
export function temporalBinary() {
  return ifThere(temporalCachePath());
}

/**
 * Returns the database server to run: `mongod` if installed, else the embedded store.
 * @returns {StoreBinary | null} null when set-up has not run
 */
export function storeBinary() {
  const mongod = onPath('mongod');
  if (mongod !== null) return { kind: 'mongod', path: mongod };
  const embedded = ifThere(storeCachePath());
  return embedded === null ? null : { kind: 'embedded', path: embedded };
}

/**
 * Returns the programs that run inside guests.
 * @returns {GuestBinaries | null} null when set-up has not run
 */
export function guestBinaries() {
  const folder = guestCachePath();
  const [agent, gate, root] = ['agent', 'gate', 'root'].map((name) => ifThere(join(folder, `mayfly-${name}`)));
  return agent && gate && root ? { agent, gate, root, version: guestVersion() } : null;
}

/**
 * Returns the program that compares guests' file systems on the host.
 * @returns {string | null} null when set-up has not run
 */
export function diffBinary() {
  return ifThere(join(diffCachePath(), 'mayfly-diff'));
}

/**
 * Returns an image built of the present sources.
 * @param {ImageName} [name] `@default` the one that set-up builds
 * @returns {GoldenImage | null} null when it is not built: set-up has not run, ran for the simulated host only, or the
 * image was never pulled
 */
export function goldenImage(name = imageNames[0]) {
  const dir = imageCachePath(name);
  const description = ifThere(join(dir, 'image.json'));
  if (description === null) return null;
  return {
    ...JSON.parse(readFileSync(description, 'utf8')),
    dir,
    disk: join(dir, 'disk.qcow2'),
    kernel: join(dir, 'vmlinux'),
    initrd: join(dir, 'initrd'),
  };
}

/** @returns {string} folder of Ansible for guests, built or not */
export function ansibleCachePath() {
  const digest = createHash('sha256').update(readFileSync(join(repository, 'scripts', 'setup', 'ansible.sh')));
  return join(cacheDir(), 'ansible', digest.digest('hex').slice(0, 16));
}

/**
 * Returns Ansible as it is copied into a guest to try a playbook.
 * @returns {{ archive: string, version: string } | null} null when it is not built
 */
export function ansibleArchive() {
  const archive = ifThere(join(ansibleCachePath(), 'ansible.tar.gz'));
  if (archive === null) return null;
  return { archive, version: readFileSync(join(ansibleCachePath(), 'version'), 'utf8').trim() };
}

/**
 * Finds a program as a shell would.
 * @param {string} name
 * @returns {string | null}
 */
export function onPath(name) {
  // Root's tools are also found where PATH omits their folders.
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return folders.map((folder) => join(folder, name)).find(isProgram) ?? null;
}

/**
 * @param {string} path
 * @returns {boolean}
 */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * @param {string} path
 * @returns {string | null}
 */
function ifThere(path) {
  return existsSync(path) ? path : null;
}

/**
 * Returns a digest of a source folder: names, contents and executable bits.
 * @param {string} folder
 * @param {RegExp} except Paths in it that do not change the build.
 * @returns {string}
 */
export function sourceDigest(folder, except) {
  const hash = createHash('sha256');
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !except.test(relative(folder, file)))
    .sort();
  for (const file of files) {
    const executable = (statSync(file).mode & 0o100) !== 0;
    const content = createHash('sha256').update(readFileSync(file)).digest('hex');
    hash.update(`${relative(folder, file)}\0${executable}\0${content}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}
