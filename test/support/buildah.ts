import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { BASE, type DockerfileCase } from './dockerfile-cases.ts';

const run = promisify(execFile);

/** Debian's buildah, with all of its storage in a folder of its own. RUN is by chroot(2): its /usr is the machine's. */
export class Buildah {
  constructor(private readonly folder: string) {}

  /** @param base the tree that FROM means */
  async prepare(base: string): Promise<void> {
    const file = join(this.folder, 'Base');
    await writeFile(file, 'FROM scratch\nCOPY . /\n');
    await this.#buildah('bud', '-q', '-f', file, '-t', BASE, base);
  }

  /** @returns where the tree lies that it came to; null: it has failed */
  async build({ dockerfile, args = {}, target }: DockerfileCase, context: string): Promise<string | { failed: string }> {
    const file = join(this.folder, 'Dockerfile');
    await writeFile(file, dockerfile);
    const options = Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
    const stage = target === undefined ? [] : ['--target', target];
    try {
      const bud = ['bud', '-q', '--isolation', 'chroot', '--pull-never', '-v', '/usr:/usr:ro', '--format', 'docker'];
      const image = await this.#buildah(...bud, ...options, ...stage, '-f', file, context);
      const container = await this.#buildah('from', '--pull-never', image.trim().split('\n').at(-1) ?? '');
      return (await this.#buildah('mount', container.trim())).trim();
    } catch (error) {
      return { failed: error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error) };
    }
  }

  async #buildah(...argv: string[]): Promise<string> {
    const [command = '', ...rest] = argv;
    const where = ['--storage-driver', 'vfs', '--root', join(this.folder, 'root'), '--runroot', join(this.folder, 'run')];
    const { stdout } = await run('buildah', [...where, command, ...rest], { timeout: 300_000 });
    return stdout;
  }
}

export async function writeContext(folder: string, files: Record<string, string> = {}): Promise<void> {
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
}

/** Each path with type, mode, owner, and what it holds or says. */
export async function treeOf(root: string, skip: RegExp): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const look = async (path: string) => {
    for (const name of (await readdir(join(root, path))).sort()) {
      const below = path === '' ? name : `${path}/${name}`;
      if (skip.test(below)) continue;
      const full = join(root, below);
      const stats = await lstat(full);
      const type = stats.isDirectory() ? 'd' : stats.isSymbolicLink() ? 'l' : stats.isFile() ? 'f' : 'o';
      const holds =
        type === 'f'
          ? createHash('sha256').update(await readFile(full)).digest('hex').slice(0, 12) + ` ${stats.nlink} ${JSON.stringify((await readFile(full, 'utf8')).slice(0, 80))}`
          : type === 'l'
            ? await readlink(full)
            : '';
      const mode = type === 'l' ? '' : (stats.mode & 0o7777).toString(8);
      found.set(below, `${type} ${mode} ${stats.uid}:${stats.gid} ${holds}`);
      if (type === 'd') await look(below);
    }
  };
  await look('');
  return found;
}

export function differences(ours: Map<string, string>, theirs: Map<string, string>): Record<string, string> {
  const all = [...new Set([...ours.keys(), ...theirs.keys()])].sort();
  return Object.fromEntries(
    all.flatMap((path) => {
      const [a = 'nothing', b = 'nothing'] = [ours.get(path), theirs.get(path)];
      return a === b ? [] : [[path, `${a} | ${b}`]];
    }),
  );
}
