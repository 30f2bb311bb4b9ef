import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { BASE, type DockerfileCase } from './dockerfile-cases.ts';

const run = promisify(execFile);

/** File tree, or the error of its build. */
export type Built = { root: string } | { failed: string };

/** Debian's buildah with its own storage folder. RUN uses chroot(2): its /usr is the machine's. */
export class Buildah {
  constructor(private readonly folder: string) {}

  /** Builds the base image. @param base tree for FROM */
  async prepare(base: string): Promise<void> {
    const file = join(this.folder, 'Base');
    await writeFile(file, 'FROM scratch\nCOPY . /\n');
    await this.#buildah('bud', '-q', '-f', file, '-t', BASE, base);
  }

  /** Builds a case. @returns the folder of its tree, or the error */
  async build({ dockerfile, args = {}, target }: DockerfileCase, context: string): Promise<Built> {
    const file = join(this.folder, 'Dockerfile');
    await writeFile(file, dockerfile);
    const options = Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
    const stage = target === undefined ? [] : ['--target', target];
    try {
      const bud = ['bud', '-q', '--isolation', 'chroot', '--pull-never', '-v', '/usr:/usr:ro', '--format', 'docker'];
      const image = await this.#buildah(...bud, ...options, ...stage, '-f', file, context);
      const container = await this.#buildah('from', '--pull-never', image.trim().split('\n').at(-1) ?? '');
      return { root: (await this.#buildah('mount', container.trim())).trim() };
    } catch (error) {
      if (!(error instanceof Error && 'stderr' in error)) throw error;
      return { failed: String(error.stderr) };
    }
  }

  async #buildah(...argv: string[]): Promise<string> {
    const [command = '', ...rest] = argv;
    const where = [
      '--storage-driver',
      'vfs',
      '--root',
      join(this.folder, 'root'),
      '--runroot',
      join(this.folder, 'run'),
    ];
    const { stdout } = await run('buildah', [...where, command, ...rest], { timeout: 300_000 });
    return stdout;
  }
}

/** Writes the files that a case copies. */
export async function writeContext(folder: string, { files = {}, modes = {} }: DockerfileCase): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    const full = join(folder, path);
    await mkdir(path.endsWith('/') ? full : dirname(full), { recursive: true });
    if (path.endsWith('/')) continue;
    const [, link] = /^-> (.*)$/.exec(text) ?? [];
    if (link !== undefined) {
      await symlink(link, full);
      continue;
    }
    const [, mode = '0644', content = text] = /^(\d{4}) (.*)$/s.exec(text) ?? [];
    await writeFile(full, content);
    await chmod(full, Number.parseInt(mode, 8));
  }
  for (const [path, mode] of Object.entries(modes)) await chmod(join(folder, path), mode);
}

/** Returns a description of each path: type, mode, owner, and content or target. */
export async function treeOf(root: string, isLeftOut: (path: string) => boolean): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const look = async (folder: string) => {
    for (const name of await readdir(join(root, folder))) {
      const path = folder === '' ? name : `${folder}/${name}`;
      if (isLeftOut(path)) continue;
      found.set(path, await described(join(root, path)));
      if ((await lstat(join(root, path))).isDirectory()) await look(path);
    }
  };
  await look('');
  return found;
}

/** Returns the paths that differ, with both descriptions. */
export function differencesOf(ours: Map<string, string>, theirs: Map<string, string>): Record<string, string> {
  const all = [...new Set([...ours.keys(), ...theirs.keys()])].sort();
  const different = all.filter((path) => ours.get(path) !== theirs.get(path));
  return Object.fromEntries(different.map((path) => [path, `${ours.get(path)}, not ${theirs.get(path)}`]));
}

async function described(path: string): Promise<string> {
  const stats = await lstat(path);
  const owner = `${stats.uid}:${stats.gid}`;
  if (stats.isSymbolicLink()) return `${owner} -> ${await readlink(path)}`;
  const mode = (stats.mode & 0o7777).toString(8);
  if (!stats.isFile()) return `${owner} ${mode} ${stats.mode & 0o170000} ${stats.isDirectory() ? '' : stats.rdev}`;
  const bytes = await readFile(path);
  const digest = createHash('sha256').update(bytes).digest('hex');
  return `${owner} ${mode} ${stats.nlink} ${digest} ${JSON.stringify(bytes.toString('latin1', 0, 80))}`;
}
