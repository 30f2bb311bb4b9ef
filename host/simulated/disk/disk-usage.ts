import { setTimeout as sleep } from 'node:timers/promises';
import { entriesOf } from '../../os/directory.ts';
import { ExecError, exec } from '../../os/exec.ts';

/** Callers that come within this time share one `du`. Milliseconds. */
const GATHER_MS = 5;
/** So many folders are given to one `du`; further ones wait for the next. */
const AT_ONCE = 100;
const ALWAYS = ['--summarize', '--block-size=1', '--one-file-system'];

interface Round {
  workspaces: Set<string>;
  sizes: Promise<ReadonlyMap<string, number>>;
}

/** What workspaces take of the disk: one program for all that are asked for at once. */
export class DiskUsage {
  #next: Round | null = null;
  #last: Promise<unknown> = Promise.resolve();

  /** Allocated, not apparent, size of everything in a workspace; 0 when there is none. Bytes. */
  async of(workspace: string): Promise<number> {
    if ((await entriesOf(workspace)) === null) return 0;
    this.#next ??= this.#begin();
    this.#next.workspaces.add(workspace);
    const bytes = (await this.#next.sizes).get(workspace);
    if (bytes !== undefined) return bytes;
    // A removal overtook the measuring.
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
    this.#last = sizes.catch(() => undefined); // whoever asked is told
    return { workspaces, sizes };
  }
}

export function allocatedBytes(folder: string): Promise<number> {
  return measure(folder, []);
}

/** How long all files in a folder are, holes included. */
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

/** What `du` prints, also when a file was removed under it: it has passed over that one, and ends with 1. */
async function duOf(folders: readonly string[]): Promise<string> {
  try {
    return (await exec('du', [...ALWAYS, '--', ...folders])).stdout;
  } catch (error) {
    if (error instanceof ExecError && error.exitCode === 1) return error.stdout;
    throw error;
  }
}

/** By folder. A line of du(1) is its size, a tab and its name. */
function sizesIn(stdout: string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const line of stdout.split('\n')) {
    const [, bytes, folder] = /^(\d+)\t(.+)$/.exec(line) ?? [];
    if (bytes !== undefined && folder !== undefined) sizes.set(folder, Number(bytes));
  }
  return sizes;
}
