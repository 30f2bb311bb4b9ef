import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { isSandboxId } from '../../model/ids.ts';
import { orAbsent } from '../os/absent.ts';
import { writeFileAtomic } from '../os/atomic-file.ts';

/** Written last and removed first: while it is there, the snapshot is whole. */
const SPEC_FILE = 'spec.json';
const SnapshotSpec = z.strictObject({
  sandboxId: z.string().refine(isSandboxId),
  kind: z.literal('disk'),
  /** When the sandbox stood still, ISO 8601. */
  savedAt: z.iso.datetime(),
  /** Of the tree, hex, as it was first verified; null: not yet. */
  sha256: z.hex().length(64).nullable(),
});
/** What a simulated host remembers of a snapshot, beside its tree. */
export type SnapshotSpec = z.infer<typeof SnapshotSpec>;

/** Null when there is no whole snapshot in that folder. @throws Error when the file is not one of ours */
export async function readSpec(folder: string): Promise<SnapshotSpec | null> {
  const path = join(folder, SPEC_FILE);
  const text = await orAbsent(readFile(path, 'utf8'));
  if (text === null) return null;
  try {
    return SnapshotSpec.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${path} is not what Mayfly wrote; look at it, then delete the snapshot.`, { cause });
  }
}

export async function writeSpec(folder: string, spec: SnapshotSpec): Promise<void> {
  await writeFileAtomic(join(folder, SPEC_FILE), `${JSON.stringify(spec)}\n`, 0o400);
}

/** Succeeds when there is none. */
export async function removeSpec(folder: string): Promise<void> {
  await rm(join(folder, SPEC_FILE), { force: true });
}
