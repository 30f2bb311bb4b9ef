import { link, mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MayflyError } from '../../../model/errors.ts';
import { isSnapshotId } from '../../../model/ids.ts';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import { snapshotKind } from '../../../model/snapshots/snapshot.ts';
import { orAbsent } from '../../os/absent.ts';
import { flush, writeFileAtomic } from '../../os/atomic-file.ts';
import { entriesOf, isThere } from '../../os/directory.ts';
import { readJson, writeJson } from '../../os/json-file.ts';
import type { StateDir } from '../../state-dir.ts';
import { buildXml, type Element, parseXml } from '../client/xml.ts';
import { SEARCHABLE } from './workspace.ts';

/** File mode of saved memory, which holds the memory of the guest's processes: only libvirtd reads it. */
export const MEMORY_MODE = 0o400;

/** Parameters of a save, written before libvirt is called, for the recovery after a crash. */
const Attempt = z.strictObject({
  sandboxId: z.string().refine(isSandboxId),
  /** With `full`, the guest's processes were to be frozen. */
  kind: snapshotKind.default('disk'),
  /** True when the guest's file systems were to be frozen. */
  quiesce: z.boolean(),
  /** ISO 8601. */
  at: z.iso.datetime(),
});
export type Attempt = z.infer<typeof Attempt>;

const Saved = z.strictObject({
  kind: snapshotKind,
  disks: z.array(
    z.strictObject({
      target: z.string(),
      sha256: z.string(),
      virtualBytes: z.number(),
      storedBytes: z.number(),
    }),
  ),
  memoryBytes: z.number().nullable().default(null),
  sizeBytes: z.number(),
  quiesced: z.boolean(),
  savedAt: z.iso.datetime(),
});

const Spec = z.strictObject({
  sandboxId: z.string().refine(isSandboxId),
  kind: snapshotKind,
  quiesced: z.boolean(),
  /** ISO 8601. */
  savedAt: z.iso.datetime(),
  /** Files of sources below it, with their content (null: a block device). */
  bases: z.array(z.strictObject({ path: z.string(), sha256: z.string().nullable() })),
  /** Ids of the snapshots below it, newest first. */
  snapshots: z.array(z.string().refine(isSnapshotId)),
  /** Result of the check; null before it. */
  saved: Saved.nullable(),
  /** Digest of the saved memory, hex; null before the check, and without memory. */
  memorySha256: z.string().nullable().default(null),
});
export type SnapshotSpec = z.infer<typeof Spec>;

/**
 * Folder of one snapshot on the host: a frozen layer for each disk, and the domain with these disks. spec.json is
 * written last: it proves that the rest is complete, the sandbox uses new layers, and nothing of it is frozen.
 */
export class SnapshotFolder {
  readonly path: string;

  constructor(
    private readonly state: StateDir,
    readonly snapshotId: string,
  ) {
    this.path = state.snapshot(snapshotId);
  }

  layerOf = (target: string) => this.#at(`${target}.qcow2`);
  exists = () => isThere(this.path);

  /** Memory of a `full` snapshot, as libvirt saves it. */
  get memory(): string {
    return this.#at('memory.save');
  }

  async make(): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: SEARCHABLE });
    await flush(this.state.snapshots);
  }

  /** Hard-links a layer of a workspace here, unless that exists. */
  async adopt(active: string, target: string): Promise<void> {
    try {
      await link(active, this.layerOf(target));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw toLinkError(active, error);
      const [mine, theirs] = await Promise.all([stat(this.layerOf(target)), stat(active)]);
      if (mine.ino !== theirs.ino) throw toLinkError(active, error);
    }
  }

  attempt = () => readJson(this.#at('attempt.json'), Attempt);
  writeAttempt = (attempt: Attempt) => writeJson(this.#at('attempt.json'), attempt);
  forgetAttempt = () => rm(this.#at('attempt.json'), { force: true });
  spec = () => readJson(this.#at('spec.json'), Spec);
  writeSpec = (spec: SnapshotSpec) => writeJson(this.#at('spec.json'), spec);

  /** Returns the machine with the frozen layers as its disks; null before all of them are linked here. */
  async domain(): Promise<Element | null> {
    const xml = await orAbsent(readFile(this.#at('domain.xml'), 'utf8'));
    return xml === null ? null : parseXml(xml);
  }
  writeDomain = (domain: Element) => writeFileAtomic(this.#at('domain.xml'), buildXml(domain), 0o600);

  /** True when it is deleted, and stays only for its referrers. */
  isRemoved = () => isThere(this.#at('removed.json'));
  markRemoved = () => writeJson(this.#at('removed.json'), { at: new Date().toISOString() });

  /** Removes the folder atomically; {@link sweepDropped} removes leftovers of a crash. */
  async drop(): Promise<void> {
    await rename(this.path, `${this.path}${DROPPED}`);
    await rm(`${this.path}${DROPPED}`, { recursive: true });
  }

  #at(name: string): string {
    return join(this.path, name);
  }
}

const DROPPED = '.gone';

export async function snapshotFolders(state: StateDir): Promise<SnapshotFolder[]> {
  const names = (await entriesOf(state.snapshots)) ?? [];
  return names.filter(isSnapshotId).map((id) => new SnapshotFolder(state, id));
}

/** Removes the remains of snapshots whose removal was interrupted by a crash. */
export async function sweepDropped(state: StateDir): Promise<void> {
  for (const name of (await entriesOf(state.snapshots)) ?? []) {
    if (name.endsWith(DROPPED)) await rm(join(state.snapshots, name), { recursive: true, force: true });
  }
}

function toLinkError(active: string, cause: unknown): MayflyError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  const why =
    code === 'EXDEV'
      ? 'the folders `sandboxes` and `snapshots` must lie on one file system'
      : cause instanceof Error
        ? cause.message
        : String(cause);
  return new MayflyError('snapshot_failed', `The layer ${active} could not be given a second name: ${why}.`, { cause });
}
