import { rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { z } from 'zod';
import type { SavedDisk } from '../../../model/snapshots/snapshot.ts';
import { flush } from '../../os/atomic-file.ts';
import { entriesOf } from '../../os/directory.ts';
import { readJson, writeJson } from '../../os/json-file.ts';
import { allocatedBytes, apparentBytes } from '../disk/disk-usage.ts';
import { digestOfTree } from '../disk/tree.ts';

const SPEC = 'spec.json';

/** Folder of a saved tree and its description: made under a temporary name, complete while the description exists. */
export class TreeFolder<Spec> {
  readonly staging: string;

  constructor(
    readonly path: string,
    private readonly shape: z.ZodType<Spec>,
  ) {
    this.staging = `${path}.new`;
  }

  whole = () => readJson(join(this.path, SPEC), this.shape);
  staged = () => readJson(join(this.staging, SPEC), this.shape);
  /** @param folder of either name */
  write = (folder: string, spec: Spec) => writeJson(join(folder, SPEC), spec, 0o400);

  /** Gives it its final name. */
  async keep(): Promise<void> {
    await rename(this.staging, this.path);
    await flush(dirname(this.path));
  }
}

export function treeOf(folder: string): string {
  return join(folder, 'root');
}

/** Returns the ids of everything saved in a folder, partial ones included. */
export async function savedIds(folder: string, isId: (name: string) => boolean): Promise<string[]> {
  const names = ((await entriesOf(folder)) ?? []).map((name) => name.replace(/\.new$/, ''));
  return [...new Set(names.filter(isId))].sort();
}

/** Describes a tree as the one disk of a machine. @throws Error when not all of it can be read; the signal's reason */
export async function diskOfTree(tree: string, signal: AbortSignal): Promise<SavedDisk> {
  const sha256 = await digestOfTree(tree, signal);
  return { target: 'root', sha256, virtualBytes: await apparentBytes(tree), storedBytes: await allocatedBytes(tree) };
}
