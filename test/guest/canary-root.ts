import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { ReadonlyCommand } from '../../model/readonly/command.ts';

/** Files below the root that commands of the cases would remove or change. */
const CANARIES = [
  'F',
  'x',
  'f',
  'victim',
  'tmp/victim',
  'tmp/x',
  'tmp/F',
  'tmp/written',
  'tmp/out',
  'tmp/ls',
  'a',
  'b',
];
const RUNNER = fileURLToPath(new URL('run-plainly.mjs', import.meta.url));
const NAMESPACES = ['--mount', '--pid', '--net', '--uts', '--ipc'];

/**
 * Mounts over this machine's root, in `$1`, a layer that takes every change: nothing is changed and every change is
 * visible. All within namespaces that end with their first process.
 */
const SETUP = `
mount --make-rprivate /
mount -t tmpfs canary "$1/upper"
mkdir "$1/upper/changes" "$1/upper/work"
cp -a "$1/canaries" "$1/upper"
mount -t overlay canary -o "lowerdir=$1/upper/canaries:/,upperdir=$1/upper/changes,workdir=$1/upper/work" "$1/root"
mount -t proc proc "$1/root/proc"
mount -t tmpfs -o ro none "$1/root/sys"
mount -t tmpfs temporary "$1/root/mnt"
mount -t tmpfs dev "$1/root/dev"
touch "$1/root/dev/null"
mount --bind /dev/null "$1/root/dev/null"
mount -o remount,ro "$1/root/dev"
echo ready
exec sleep infinity
`;

const Result = z.object({ index: z.int(), started: z.boolean() });

/**
 * This machine's own file tree, in which commands run as root without a sandbox; their changes are found. Without
 * capabilities, network, or other processes.
 */
export class CanaryRoot {
  private constructor(
    private readonly folder: string,
    private readonly holder: ChildProcess,
    /** Pid of the first process in the namespaces, as seen from here. */
    private readonly init: number,
  ) {}

  static async start(parent: string): Promise<CanaryRoot> {
    const folder = await mkdtemp(join(parent, 'mf-canary-'));
    for (const name of ['canaries/tmp', 'upper', 'root']) await mkdir(join(folder, name), { recursive: true });
    for (const name of CANARIES) await writeFile(join(folder, 'canaries', name), 'canary\n', { mode: 0o666 });
    const holder = spawn('unshare', [...NAMESPACES, '--fork', '--kill-child', 'sh', '-ec', SETUP, 'sh', folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = (await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')])) as [unknown];
    if (String(said) !== 'ready\n') {
      await rm(folder, { recursive: true });
      throw new Error(`No namespaces with a file tree of their own: unshare ended with ${String(said)}`);
    }
    const init = Number(execFileSync('pgrep', ['-P', String(holder.pid)], { encoding: 'utf8' }));
    return new CanaryRoot(folder, holder, init);
  }

  /** Runs each command: its programs by their paths, its patterns as text. @returns the number with a program here */
  run(commands: readonly ReadonlyCommand[], pathsOf: (program: string) => readonly string[]): number {
    const work = commands.map(({ pipelines }) =>
      pipelines.map(({ stages }) =>
        stages.map(({ argv, ...rest }) => ({
          ...rest,
          argv,
          paths: argv[0].includes('/') ? [argv[0]] : pathsOf(argv[0]),
        })),
      ),
    );
    const root = join(this.folder, 'root');
    const enter = ['-t', String(this.init), '-m', '-p', '-n', '-u', '-i', '--', 'chroot', root];
    const bare = ['setpriv', '--inh-caps=-all', '--bounding-set=-all', '--no-new-privs', '--'];
    const output = execFileSync('nsenter', [...enter, ...bare, process.execPath, RUNNER], {
      input: JSON.stringify(work),
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const results = output
      .trim()
      .split('\n')
      .map((line) => Result.parse(JSON.parse(line)));
    if (results.length !== commands.length) throw new Error(`${results.length} of ${commands.length} were run`);
    return results.filter(({ started }) => started).length;
  }

  /** Returns every path of the tree that was created, changed or removed. */
  async changes(): Promise<string[]> {
    return readdir(join('/proc', String(this.init), 'root', this.folder, 'upper/changes'), { recursive: true });
  }

  async stop(): Promise<void> {
    const ended = once(this.holder, 'exit');
    this.holder.kill('SIGKILL');
    await ended;
    await rm(this.folder, { recursive: true, force: true });
  }
}
