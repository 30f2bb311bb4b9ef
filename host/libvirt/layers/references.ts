import { dirname } from 'node:path';
import { Mutex } from 'async-mutex';
import { ZodError } from 'zod';
import { MayflyError } from '../../../model/errors.ts';
import type { BaseDigests } from '../../disk/base-digest.ts';
import { nullIf, orAbsent } from '../../os/absent.ts';
import { ReferenceCounts } from '../../os/reference-counts.ts';
import type { StateDir } from '../../state-dir.ts';
import { type Element, namesFileIn } from '../client/xml.ts';
import { allCaptures } from './capture-folder.ts';
import { SnapshotFolder, type SnapshotSpec, snapshotFolders, sweepDropped } from './snapshot-folder.ts';
import { Workspace, workspaceIds } from './workspace.ts';

/** Result for an unreadable thing: it may refer to anything. */
export const MAY_REFER = true;

/** Snapshot that can be built on: checked, and not deleted. */
export interface BaseSnapshot {
  snapshotId: string;
  /** Machine with the frozen layers as its disks. */
  domain: Element;
  spec: SnapshotSpec;
  /** Files below a new overlay, with their verified digests. */
  bases: SnapshotSpec['bases'];
}

/**
 * Referrers of snapshots. No stored count, since a crash would make it wrong: the existing workspaces and snapshots
 * name their references. Only pending referrers are kept in memory.
 */
export class References {
  /** Acquired before the check for deletion; a removal marks it deleted before it checks these counts. */
  readonly #counts = new ReferenceCounts();
  readonly #sweeping = new Mutex();

  constructor(
    private readonly state: StateDir,
    private readonly digests: BaseDigests,
  ) {}

  /**
   * Runs `use` while the snapshot is protected from removal.
   * @throws MayflyError snapshot_not_found, snapshot_not_ready, source_changed
   */
  async on<T>(snapshotId: string, use: (foundation: BaseSnapshot) => Promise<T>): Promise<T> {
    this.#counts.acquire(snapshotId);
    try {
      return await use(await this.#foundation(snapshotId));
    } finally {
      this.#counts.release(snapshotId);
    }
  }

  /**
   * Protects snapshots until the reader of the result is done; then frees those that were deleted.
   * @throws MayflyError as {@link on}
   */
  async *whileRead<T>(
    snapshotIds: readonly string[],
    make: (foundations: BaseSnapshot[]) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    for (const id of snapshotIds) this.#counts.acquire(id);
    try {
      yield* make(await Promise.all(snapshotIds.map((id) => this.#foundation(id))));
    } finally {
      for (const id of snapshotIds) this.#counts.release(id);
      await this.sweep();
    }
  }

  /** Returns the referrers of a snapshot, in words for a person; null without any. */
  async referrers(snapshotId: string): Promise<string | null> {
    const found = await this.#listWhere(async (thing) => (await thing.spec())?.snapshots.includes(snapshotId) ?? false);
    if (this.#counts.has(snapshotId)) found.push('what is being made of it, or compared with it');
    return formatList(found);
  }

  /**
   * Returns the referrers of a source's files in that folder, in words for a person; null without any. Disks may have
   * been copied since; other files, such as a kernel, are named by the domain alone.
   */
  async onFiles(folder: string): Promise<string | null> {
    const names = (domain: Element | null) => domain !== null && namesFileIn(domain, folder);
    const found = await this.#listWhere(
      async (thing) =>
        ((await thing.spec())?.bases.some(({ path }) => dirname(path) === folder) ?? false) ||
        names(await orAbsent(thing.domain())),
    );
    for (const capture of await allCaptures(this.state)) {
      const isNamed = async () => names(await capture.domain());
      if (await unlessUnreadable(isNamed, MAY_REFER)) found.push(`capture ${capture.captureId}`);
    }
    return formatList(found);
  }

  /**
   * Returns the users of those files as backing files, in words for a person; null without any.
   * @param isOne true when a path leads to one of them
   */
  async over(isOne: (path: string) => Promise<boolean>): Promise<string | null> {
    const found = await this.#listWhere(async (thing) => {
      for (const { path } of (await thing.spec())?.bases ?? []) if (await isOne(path)) return true;
      return false;
    });
    return formatList(found);
  }

  /** Returns the sandboxes and snapshots of this host that refer to it, or may. */
  async #listWhere(refers: (thing: Workspace | SnapshotFolder) => Promise<boolean>): Promise<string[]> {
    const found: string[] = [];
    for (const id of await workspaceIds(this.state)) {
      const workspace = new Workspace(this.state, id);
      if (await unlessUnreadable(() => refers(workspace), MAY_REFER)) found.push(`sandbox ${id}`);
    }
    for (const folder of await snapshotFolders(this.state)) {
      if (await unlessUnreadable(() => refers(folder), MAY_REFER)) found.push(`snapshot ${folder.snapshotId}`);
    }
    return found;
  }

  /** Frees every deleted snapshot without referrers, and then those which only it referred to. */
  async sweep(): Promise<void> {
    await this.#sweeping.runExclusive(async () => {
      await sweepDropped(this.state);
      for (let freed = true; freed; ) {
        freed = false;
        for (const folder of await snapshotFolders(this.state)) {
          if (!(await folder.isRemoved()) || (await this.referrers(folder.snapshotId)) !== null) continue;
          await folder.drop();
          await this.digests.forget(folder.path);
          freed = true;
        }
      }
    });
  }

  async #foundation(snapshotId: string): Promise<BaseSnapshot> {
    const folder = new SnapshotFolder(this.state, snapshotId);
    if (!(await folder.exists()) || (await folder.isRemoved())) {
      throw new MayflyError('snapshot_not_found', `${snapshotId} is not on this host, or has been deleted.`);
    }
    const [spec, domain] = await Promise.all([folder.spec(), folder.domain()]);
    if (!spec?.saved || domain === null) {
      throw new MayflyError('snapshot_not_ready', `${snapshotId} is not whole: it has not been saved and checked.`);
    }
    const bases = new Map(spec.bases.map(({ path, sha256 }) => [path, sha256]));
    for (const id of [snapshotId, ...spec.snapshots]) {
      const layer = new SnapshotFolder(this.state, id);
      for (const { target, sha256 } of (await layer.spec())?.saved?.disks ?? [])
        bases.set(layer.layerOf(target), sha256);
    }
    for (const [path, sha256] of bases) {
      if (sha256 === null || (await orAbsent(this.digests.protect(path))) === sha256) continue;
      throw new MayflyError(
        'source_changed',
        `${path} has changed, or gone, since ${snapshotId} was saved, which refers to it.`,
      );
    }
    return { snapshotId, domain, spec, bases: [...bases].map(([path, sha256]) => ({ path, sha256 })) };
  }
}

function formatList(found: readonly string[]): string | null {
  return found.length === 0 ? null : found.join(', ');
}

/** @param otherwise result for a thing whose files are damaged */
export async function unlessUnreadable<T>(read: () => Promise<T>, otherwise: T): Promise<T> {
  const found = await nullIf(read(), (error) => [SyntaxError, ZodError, MayflyError].some((is) => error instanceof is));
  return found ?? otherwise;
}
