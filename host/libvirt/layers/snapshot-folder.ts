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

/** Nobody but libvirtd reads saved memory, which holds what the guest's processes held. */
export const MEMORY_MODE = 0o400;

/** What a save was about to ask libvirt for, so that whoever comes after a crash knows. */
const Attempt = z.strictObject({
  sandboxId: z.string().refine(isSandboxId),
  /** With `full`, the guest's processes were to be frozen. */
  kind: snapshotKind.default('disk'),
  /** The guest's file systems were to be frozen. */
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
  /** The files of sources that it refers to, with the content they had (null: a block device). */
  bases: z.array(z.strictObject({ path: z.string(), sha256: z.string().nullable() })),
  /** Ids of the snapshots that it refers to, the newest first. */
  snapshots: z.array(z.string().refine(isSnapshotId)),
  /** What it was found to be; null until it was looked at. */
  saved: Saved.nullable(),
  /** Of the saved memory, hex; null before it was looked at, and where there is none. */
  memorySha256: z.string().nullable().default(null),
});
export type SnapshotSpec = z.infer<typeof Spec>;

/**
 * One snapshot's folder on the host: a frozen layer for each disk, and the domain whose disks they are. Its spec.json is
 * written last: when it is there, the rest is, the sandbox has gone over to new layers, and nothing of it is frozen.
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

  /** The memory of a `full` one, as libvirt saves it. */
  get memory(): string {
    return this.#at('memory.save');
  }

  async make(): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: SEARCHABLE });
    await flush(this.state.snapshots);
  }

  /** Gives a layer of a workspace a second name here, unless it has it. */
  async adopt(active: string, target: string): Promise<void> {
    try {
      await link(active, this.layerOf(target));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw notLinked(active, error);
      const [mine, theirs] = await Promise.all([stat(this.layerOf(target)), stat(active)]);
      if (mine.ino !== theirs.ino) throw notLinked(active, error);
    }
  }

  attempt = () => readJson(this.#at('attempt.json'), Attempt);
  writeAttempt = (attempt: Attempt) => writeJson(this.#at('attempt.json'), attempt);
  forgetAttempt = () => rm(this.#at('attempt.json'), { force: true });
  spec = () => readJson(this.#at('spec.json'), Spec);
  writeSpec = (spec: SnapshotSpec) => writeJson(this.#at('spec.json'), spec);

  /** The machine with the frozen layers as its disks; null before all of them have their names here. */
  async domain(): Promise<Element | null> {
    const xml = await orAbsent(readFile(this.#at('domain.xml'), 'utf8'));
    return xml === null ? null : parseXml(xml);
  }
  writeDomain = (domain: Element) => writeFileAtomic(this.#at('domain.xml'), buildXml(domain), 0o600);

  /** Whether it is deleted, and stays only for what refers to it. */
  isRemoved = () => isThere(this.#at('removed.json'));
  markRemoved = () => writeJson(this.#at('removed.json'), { at: new Date().toISOString() });

  /** It goes at once or not at all; what a crash leaves of it then is {@link sweepDropped}'s. */
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

/** Removes what a crash left of snapshots that were being dropped. */
export async function sweepDropped(state: StateDir): Promise<void> {
  for (const name of (await entriesOf(state.snapshots)) ?? []) {
    if (name.endsWith(DROPPED)) await rm(join(state.snapshots, name), { recursive: true, force: true });
  }
}

function notLinked(active: string, cause: unknown): MayflyError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  const why =
    code === 'EXDEV'
      ? 'the folders `sandboxes` and `snapshots` must lie on one file system'
      : cause instanceof Error
        ? cause.message
        : String(cause);
  return new MayflyError('snapshot_failed', `The layer ${active} could not be given a second name: ${why}.`, { cause });
}
