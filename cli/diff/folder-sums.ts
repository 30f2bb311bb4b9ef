import type { FileChange } from '../../clients/typescript/http/openapi.ts';
import { quotedPath } from '../../model/files/guest-name.ts';
import type { Io } from '../terminal/io.ts';
import { columns } from '../terminal/io.ts';
import { growthOf, growthText, isOnlyTouched } from './change-text.ts';

/** Parts of a path by which changes are summed up: `/usr/lib`. */
const DEPTH = 2;
const HEADER = ['FOLDER', 'ADDED', 'CHANGED', 'REMOVED', 'RENAMED', 'SIZE'];

interface Sum {
  added: number;
  changed: number;
  removed: number;
  renamed: number;
  bytes: number;
}

/** How much changed in which folder. */
export class FolderSums {
  readonly #io: Io;
  readonly #sums = new Map<string, Sum>();

  constructor(io: Io) {
    this.#io = io;
  }

  add(change: FileChange): void {
    if (isOnlyTouched(change)) return;
    const folder = folderOf(change);
    const sum = this.#sums.get(folder) ?? { added: 0, changed: 0, removed: 0, renamed: 0, bytes: 0 };
    sum[change.change]++;
    sum.bytes += growthOf(change);
    this.#sums.set(folder, sum);
  }

  /** Sums are known at the end. */
  flush(): void {}

  end(): void {
    const rows = [...this.#sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([folder, sum]) => rowOf(folder, sum));
    if (rows.length === 0) return;
    for (const line of columns(HEADER, rows)) this.#io.print(line);
  }
}

function rowOf(folder: string, { added, changed, removed, renamed, bytes }: Sum): string[] {
  const counts = [added, changed, removed, renamed].map((count) => (count === 0 ? '-' : String(count)));
  return [folder, ...counts, growthText(bytes) || '-'];
}

function folderOf({ path }: FileChange): string {
  const shown = quotedPath(path);
  const parts = shown.split('/').slice(0, -1);
  return parts.slice(0, DEPTH + 1).join('/') || '/';
}
