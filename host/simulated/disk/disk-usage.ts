import { Semaphore } from 'async-mutex';
import { entriesOf } from '../../os/directory.ts';
import { exec } from '../../os/exec.ts';

/** So many `du` run at a time, however many sandboxes are asked for at once. */
const PROGRAMS = new Semaphore(4);

/** Admission asks for every sandbox at every create; a figure is good for this long. Milliseconds. */
const FRESH_MS = 1_000;

interface Figure {
  bytes: Promise<number>;
  measuredAt: number;
}

/** What workspaces take of the disk, measured at most once in {@link FRESH_MS} each. */
export class DiskUsage {
  readonly #figures = new Map<string, Figure>();

  /** Allocated, not apparent, size of everything in a workspace; 0 when there is none. Bytes. */
  async of(workspace: string): Promise<number> {
    this.#forgetStale();
    const known = this.#figures.get(workspace);
    if (known) return known.bytes;
    if ((await entriesOf(workspace)) === null) return 0;
    const bytes = allocatedBytes(workspace);
    this.#figures.set(workspace, { bytes, measuredAt: Date.now() });
    try {
      return await bytes;
    } catch (error) {
      this.#figures.delete(workspace);
      // A removal overtook the measuring.
      if ((await entriesOf(workspace)) === null) return 0;
      throw error;
    }
  }

  #forgetStale(): void {
    const oldest = Date.now() - FRESH_MS;
    for (const [workspace, figure] of this.#figures) {
      if (figure.measuredAt < oldest) this.#figures.delete(workspace);
    }
  }
}

/** What all in a folder takes of the disk. */
export function allocatedBytes(folder: string): Promise<number> {
  return measure(folder, []);
}

/** How long all files in a folder are, holes included. */
export function apparentBytes(folder: string): Promise<number> {
  return measure(folder, ['--apparent-size']);
}

async function measure(folder: string, options: string[]): Promise<number> {
  const always = ['--summarize', '--block-size=1', '--one-file-system'];
  const { stdout } = await PROGRAMS.runExclusive(() => exec('du', [...always, ...options, '--', folder]));
  const bytes = Number(stdout.split('\t')[0]);
  if (!Number.isSafeInteger(bytes)) throw new Error(`du printed no size for ${folder}: ${JSON.stringify(stdout)}`);
  return bytes;
}
