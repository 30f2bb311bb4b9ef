import { setTimeout as sleep } from 'node:timers/promises';
import { entriesOf } from '../../os/directory.ts';
import { ExecError, exec } from '../../os/exec.ts';

/** Time in which callers are gathered into one `du`. Milliseconds. */
const GATHER_MS = 5;
/** Folders per `du`; further ones wait for the next. */
const AT_ONCE = 100;
const ALWAYS = ['--summarize', '--block-size=1', '--one-file-system'];

interface Round {
  workspaces: Set<string>;
  sizes: Promise<ReadonlyMap<string, number>>;
}

/** Disk usage of workspaces: one `du` for all concurrent callers. */
export class DiskUsage {
  #next: Round | null = null;
  #last: Promise<unknown> = Promise.resolve();

  /** Returns the allocated, not apparent, size of a workspace; 0 when it is missing. Bytes. */
  async of(workspace: string): Promise<number> {
    if ((await entriesOf(workspace)) === null) return 0;
    this.#next ??= this.#begin();
    this.#next.workspaces.add(workspace);
    const bytes = (await this.#next.sizes).get(workspace);
    if (bytes !== undefined) return bytes;
    // It was removed during the measurement.
    if ((await entriesOf(workspace)) === null) return 0;
    throw new Error(`du printed no size for ${workspace}`);
  }

  #begin(): Round {
    const workspaces = new Set<string>();
    const before = this.#last;
    const sizes = sleep(GATHER_MS).then(async () => {
      await before;
      this.#next = null;
      return sizesOf([...workspaces]);
    });
    this.#last = sizes.catch(() => undefined); // callers get the error
    return { workspaces, sizes };
  }
}

export function allocatedBytes(folder: string): Promise<number> {
  return measure(folder, []);
}

/** Returns the total length of a folder's files, holes included. */
export function apparentBytes(folder: string): Promise<number> {
  return measure(folder, ['--apparent-size']);
}

async function measure(folder: string, options: string[]): Promise<number> {
  const { stdout } = await exec('du', [...ALWAYS, ...options, '--', folder]);
  const bytes = sizesIn(stdout).get(folder);
  if (bytes === undefined) throw new Error(`du printed no size for ${folder}: ${JSON.stringify(stdout)}`);
  return bytes;
}

async function sizesOf(folders: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const sizes: [string, number][] = [];
  for (let i = 0; i < folders.length; i += AT_ONCE) {
    sizes.push(...sizesIn(await duOf(folders.slice(i, i + AT_ONCE))));
  }
  return new Map(sizes);
}

/** Returns the output of `du`, also with status 1: it then skipped a file that was just removed. */
async function duOf(folders: readonly string[]): Promise<string> {
  try {
    return (await exec('du', [...ALWAYS, '--', ...folders])).stdout;
  } catch (error) {
    if (error instanceof ExecError && error.exitCode === 1) return error.stdout;
    throw error;
  }
}

/** Parses sizes by folder. A line of du(1) is a size, a tab and a name. */
function sizesIn(stdout: string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const line of stdout.split('\n')) {
    const [, bytes, folder] = /^(\d+)\t(.+)$/.exec(line) ?? [];
    if (bytes !== undefined && folder !== undefined) sizes.set(folder, Number(bytes));
  }
  return sizes;
}
