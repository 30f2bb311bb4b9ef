import { dirname } from 'node:path';
import { MayflyError } from '../../../model/errors.ts';
import { ReferenceCounts } from '../../os/reference-counts.ts';
import type { StateDir } from '../../state-dir.ts';
import { allCaptures, type CaptureFolder } from '../layers/capture-folder.ts';
import { MAY_REFER, unlessUnreadable } from '../layers/references.ts';
import { snapshotFolders } from '../layers/snapshot-folder.ts';
import { Workspace, workspaceIds } from '../layers/workspace.ts';

/**
 * Referrers of captures, looked up as for snapshots (layers/references.ts); pending users and removals are kept in
 * memory.
 */
export class CaptureReferences {
  readonly #counts = new ReferenceCounts();
  readonly #leaving = new Set<string>();

  constructor(private readonly state: StateDir) {}

  /** Runs `use` while the capture cannot be removed. @throws MayflyError capture_not_found during a removal */
  async during<T>(captureId: string, use: () => Promise<T>): Promise<T> {
    if (this.#leaving.has(captureId)) throw new MayflyError('capture_not_found', `${captureId} is being deleted.`);
    this.#counts.acquire(captureId);
    try {
      return await use();
    } finally {
      this.#counts.release(captureId);
    }
  }

  /** Removes a capture that nothing refers to, and prevents new uses during that. @throws MayflyError capture_in_use */
  async without(folder: CaptureFolder, remove: () => Promise<void>): Promise<void> {
    const { captureId } = folder;
    this.#leaving.add(captureId);
    try {
      const users = await this.#of(folder);
      if (users !== null) {
        throw new MayflyError('capture_in_use', `${captureId} is still needed: ${users} refers to it.`);
      }
      await remove();
    } finally {
      this.#leaving.delete(captureId);
    }
  }

  /** Returns the referrers of a capture, in words for a person; null without any. */
  async #of({ captureId, path }: CaptureFolder): Promise<string | null> {
    const found: string[] = [];
    if (this.#counts.has(captureId)) found.push('a sandbox that is being made of it');
    for (const id of await workspaceIds(this.state)) {
      const workspace = new Workspace(this.state, id);
      const isReferring = async () => refersTo(path, (await workspace.spec())?.bases);
      if (await unlessUnreadable(isReferring, MAY_REFER)) found.push(`sandbox ${id}`);
    }
    for (const snapshot of await snapshotFolders(this.state)) {
      const isReferring = async () => refersTo(path, (await snapshot.spec())?.bases);
      if (await unlessUnreadable(isReferring, MAY_REFER)) found.push(`snapshot ${snapshot.snapshotId}`);
    }
    for (const capture of await allCaptures(this.state)) {
      const isChild = async () => ((await capture.plan()) ?? (await capture.spec())?.plan)?.parentId === captureId;
      if (await unlessUnreadable(isChild, MAY_REFER)) found.push(`capture ${capture.captureId}`);
    }
    return found.length === 0 ? null : found.join(', ');
  }
}

function refersTo(folder: string, bases: readonly { path: string }[] = []): boolean {
  return bases.some(({ path }) => dirname(path) === folder);
}
