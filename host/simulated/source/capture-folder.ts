import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { isCaptureId } from '../../../model/ids.ts';
import { orAbsent } from '../../os/absent.ts';
import { writeFileAtomic } from '../../os/atomic-file.ts';
import { entriesOf } from '../../os/directory.ts';
import type { StateDir } from '../../state-dir.ts';

const Spec = z.strictObject({
  source: z.string(),
  /** When the source stood still, ISO 8601; null: not all is copied. */
  capturedAt: z.iso.datetime().nullable(),
  /** Of the tree, hex; null: not checked yet. */
  sha256: z.hex().length(64).nullable(),
});
export type CaptureSpec = z.infer<typeof Spec>;

/** Where a simulated host keeps one capture, and, under another name, makes it. */
export class CaptureFolder {
  readonly path: string;
  readonly making: string;

  constructor(state: StateDir, captureId: string) {
    this.path = state.capture(captureId);
    this.making = `${this.path}.new`;
  }

  /** Of the one that is being made; null: none is. */
  async unfinished(): Promise<CaptureSpec | null> {
    return readSpec(this.making);
  }
  /** Of the one that has its final name. */
  async whole(): Promise<CaptureSpec | null> {
    return readSpec(this.path);
  }
  async write(spec: CaptureSpec): Promise<void> {
    await writeFileAtomic(join(this.making, 'spec.json'), `${JSON.stringify(spec)}\n`, 0o400);
  }
}

/** The tree in a folder of either name. */
export function treeOf(folder: string): string {
  return join(folder, 'root');
}

/** The ids of all captures, also those that are being made. */
export async function captureIds(state: StateDir): Promise<string[]> {
  const names = ((await entriesOf(state.captures)) ?? []).map((name) => name.replace(/\.new$/, ''));
  return [...new Set(names.filter(isCaptureId))].sort();
}

async function readSpec(folder: string): Promise<CaptureSpec | null> {
  const text = await orAbsent(readFile(join(folder, 'spec.json'), 'utf8'));
  return text === null ? null : Spec.parse(JSON.parse(text));
}
