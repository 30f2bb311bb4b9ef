import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MayflyError } from '../../../model/errors.ts';
import { isCaptureId } from '../../../model/ids.ts';
import type { SavedCapture } from '../../../model/snapshots/capture.ts';
import type { CaptureRequest, HostCaptures, PresentCapture } from '../../captures.ts';
import type { Failpoints } from '../../failpoints.ts';
import type { StateDir } from '../../state-dir.ts';
import type { StepContext } from '../../step-context.ts';
import { allocatedBytes } from '../disk/disk-usage.ts';
import { copyTree, removeTree } from '../disk/tree.ts';
import { imageRoot } from '../machine/image.ts';
import { orStepFailure } from '../machine/step-failure.ts';
import { Suspension } from '../machine/suspension.ts';
import { diskOfTree, savedIds, TreeFolder, treeOf } from '../saved/tree-folder.ts';
import type { SimulatedSources } from './running-source.ts';

const CaptureSpec = z.strictObject({
  source: z.string(),
  /** Time at which the source was stopped, ISO 8601; null: the copy is incomplete. */
  capturedAt: z.iso.datetime().nullable(),
  /** Digest of the tree, hex; null: not checked yet. */
  sha256: z.hex().length(64).nullable(),
});
type CaptureSpec = z.infer<typeof CaptureSpec>;

/** Captures of a simulated host: copies of the source's tree, made while it is stopped; without referrers. */
export class SimulatedCaptures implements HostCaptures {
  constructor(private readonly deps: { state: StateDir; failpoints: Failpoints; sources: SimulatedSources }) {}

  async sizeOf(source: string): Promise<number> {
    await this.deps.sources.running(source);
    return allocatedBytes(imageRoot(this.deps.state.images, source));
  }

  async begin({ captureId, source }: CaptureRequest, { signal }: StepContext): Promise<void> {
    signal.throwIfAborted();
    const { state, failpoints, sources } = this.deps;
    const folder = this.#folder(captureId);
    const { staging } = folder;
    if ((await folder.whole()) ?? (await folder.staged())?.capturedAt) return await this.thaw(captureId);
    await sources.running(source);
    await removeTree(treeOf(staging));
    await mkdir(staging, { recursive: true, mode: 0o700 });
    await folder.write(staging, { source, capturedAt: null, sha256: null });
    const copy = () => copyTree(imageRoot(state.images, source), treeOf(staging), signal);
    const capturedAt = await this.#suspension(source).during(async () => {
      const stoppedAt = new Date().toISOString();
      await orStepFailure(copy, 'capture_failed', `${source} could not be copied`, signal);
      await failpoints.hit('beginCapture', 'during', captureId, signal);
      return stoppedAt;
    });
    await folder.write(staging, { source, capturedAt, sha256: null });
  }

  async thaw(captureId: string): Promise<void> {
    const spec = await this.#folder(captureId).staged();
    if (spec) await this.#suspension(spec.source).thaw();
  }

  async wait(captureId: string, { signal }: StepContext): Promise<void> {
    await this.deps.failpoints.hit('awaitCapture', 'during', captureId, signal);
  }

  async verify(captureId: string, { signal }: StepContext): Promise<SavedCapture> {
    signal.throwIfAborted();
    const folder = this.#folder(captureId);
    const whole = await folder.whole();
    const spec = whole ?? (await folder.staged());
    if (!spec?.capturedAt) throw new MayflyError('capture_failed', `${captureId} is not copied on this host.`);
    const disk = await diskOfTree(treeOf(whole ? folder.path : folder.staging), signal);
    await this.deps.failpoints.hit('verifyCapture', 'during', captureId, signal);
    if (spec.sha256 === null) await folder.write(folder.staging, { ...spec, sha256: disk.sha256 });
    return {
      disks: [disk],
      sizeBytes: disk.storedBytes,
      quiesced: true, // the source was stopped, and its writes reach the tree at once
      capturedAt: spec.capturedAt,
      parentId: null,
      fullBecause: 'a simulated host copies trees as a whole',
    };
  }

  async keep(captureId: string): Promise<void> {
    const folder = this.#folder(captureId);
    if (await folder.whole()) return;
    if ((await folder.staged())?.sha256) return await folder.keep();
    throw new MayflyError('capture_failed', `${captureId} has not been checked on this host.`);
  }

  async abort(): Promise<void> {} // the copy ends with its step

  async remove(captureId: string): Promise<void> {
    const folder = this.#folder(captureId);
    const { path, staging } = folder;
    await this.thaw(captureId);
    // Renamed first, so that a crash midway leaves nothing that looks complete.
    if (await folder.whole()) {
      await removeTree(staging);
      await rename(path, staging);
    }
    await this.deps.failpoints.hit('removeCapture', 'during', captureId);
    await removeTree(staging);
  }

  async list(): Promise<PresentCapture[]> {
    const ids = await savedIds(this.deps.state.captures, isCaptureId);
    return Promise.all(
      ids.map(async (captureId): Promise<PresentCapture> => {
        return { captureId, state: (await this.#folder(captureId).whole()) ? 'whole' : 'half' };
      }),
    );
  }

  /** Copies the disk of a whole capture. @throws MayflyError capture_not_found; ExecError; the signal's reason */
  async copy(captureId: string, to: string, signal: AbortSignal): Promise<void> {
    const folder = this.#folder(captureId);
    const refuseAbsent = async () => {
      if (await folder.whole()) return;
      throw new MayflyError('capture_not_found', `${captureId} is not on this host, or has been deleted.`);
    };
    await refuseAbsent();
    await copyTree(treeOf(folder.path), to, signal);
    await refuseAbsent(); // files removed during the copy would be missing in it
  }

  /** Continues sources whose capture was killed, without waiting for its saga. */
  async thawAll(): Promise<void> {
    for (const id of await savedIds(this.deps.state.captures, isCaptureId)) await this.thaw(id);
  }

  #folder(captureId: string): TreeFolder<CaptureSpec> {
    return new TreeFolder(this.deps.state.capture(captureId), CaptureSpec);
  }

  #suspension(source: string): Suspension {
    const { state, sources } = this.deps;
    return new Suspension(source, join(state.images, source), { of: () => sources.processesOf(source) });
  }
}
