import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { MayflyError } from '../../../model/errors.ts';
import type { SavedCapture } from '../../../model/snapshots/capture.ts';
import type { CaptureRequest, HostCaptures, PresentCapture } from '../../captures.ts';
import type { Failpoints } from '../../failpoints.ts';
import { syncDirectory } from '../../os/atomic-file.ts';
import type { StateDir } from '../../state-dir.ts';
import type { StepContext } from '../../step-context.ts';
import { allocatedBytes, apparentBytes } from '../disk/disk-usage.ts';
import { copyTree, digestOfTree, removeTree } from '../disk/tree.ts';
import { imageRoot } from '../machine/image.ts';
import { Suspension } from '../machine/suspension.ts';
import { CaptureFolder, captureIds, treeOf } from './capture-folder.ts';
import type { SimulatedSources } from './running-source.ts';

interface CapturesDeps {
  state: StateDir;
  failpoints: Failpoints;
  sources: SimulatedSources;
}

/** Captures of a simulated host: copies of the source's tree, made while nothing of it moves; nothing refers to one. */
export class SimulatedCaptures implements HostCaptures {
  constructor(private readonly deps: CapturesDeps) {}

  async sizeOf(source: string): Promise<number> {
    await this.deps.sources.running(source);
    return allocatedBytes(imageRoot(this.deps.state.images, source));
  }

  async begin({ captureId, source }: CaptureRequest, { signal }: StepContext): Promise<void> {
    signal.throwIfAborted();
    const { state, failpoints, sources } = this.deps;
    const folder = new CaptureFolder(state, captureId);
    if ((await folder.whole()) ?? (await folder.unfinished())?.capturedAt) return await this.thaw(captureId);
    await sources.running(source);
    await removeTree(treeOf(folder.making));
    await mkdir(folder.making, { recursive: true, mode: 0o700 });
    await folder.write({ source, capturedAt: null, sha256: null });
    const capturedAt = await this.#suspension(source).during(async () => {
      const stoppedAt = new Date().toISOString();
      await copied(() => copyTree(imageRoot(state.images, source), treeOf(folder.making), signal), source, signal);
      await failpoints.hit('beginCapture', 'during', captureId, signal);
      return stoppedAt;
    });
    await folder.write({ source, capturedAt, sha256: null });
  }

  async thaw(captureId: string): Promise<void> {
    const spec = await new CaptureFolder(this.deps.state, captureId).unfinished();
    if (spec) await this.#suspension(spec.source).thaw();
  }

  async wait(captureId: string, { signal }: StepContext): Promise<void> {
    await this.deps.failpoints.hit('awaitCapture', 'during', captureId, signal);
  }

  async verify(captureId: string, { signal }: StepContext): Promise<SavedCapture> {
    signal.throwIfAborted();
    const folder = new CaptureFolder(this.deps.state, captureId);
    const spec = (await folder.whole()) ?? (await folder.unfinished());
    if (!spec?.capturedAt) throw new MayflyError('capture_failed', `${captureId} is not copied on this host.`);
    const tree = treeOf((await folder.whole()) ? folder.path : folder.making);
    const sha256 = await digestOfTree(tree, signal);
    await this.deps.failpoints.hit('verifyCapture', 'during', captureId, signal);
    if (spec.sha256 === null) await folder.write({ ...spec, sha256 });
    const [virtualBytes, storedBytes] = [await apparentBytes(tree), await allocatedBytes(tree)];
    return {
      disks: [{ target: 'root', sha256, virtualBytes, storedBytes }],
      sizeBytes: storedBytes,
      quiesced: true, // nothing of the source moved, and what it had written is in its tree at once
      capturedAt: spec.capturedAt,
      parentId: null,
      fullBecause: 'a simulated host copies trees as a whole',
    };
  }

  async keep(captureId: string): Promise<void> {
    const folder = new CaptureFolder(this.deps.state, captureId);
    if (await folder.whole()) return;
    if (!(await folder.unfinished())?.sha256) {
      throw new MayflyError('capture_failed', `${captureId} has not been checked on this host.`);
    }
    await rename(folder.making, folder.path);
    await syncDirectory(this.deps.state.captures);
  }

  async abort(): Promise<void> {} // what copies it ends with its step

  async remove(captureId: string): Promise<void> {
    const folder = new CaptureFolder(this.deps.state, captureId);
    await this.thaw(captureId);
    // Under another name first, so that a crash in the middle leaves nothing that looks usable.
    if (await folder.whole()) {
      await removeTree(folder.making);
      await rename(folder.path, folder.making);
    }
    await this.deps.failpoints.hit('removeCapture', 'during', captureId);
    await removeTree(folder.making);
  }

  async list(): Promise<PresentCapture[]> {
    const { state } = this.deps;
    return Promise.all(
      (await captureIds(state)).map(async (captureId) => ({
        captureId,
        state: (await new CaptureFolder(state, captureId).whole()) ? ('whole' as const) : ('half' as const),
      })),
    );
  }

  /** Copies the disk of a whole capture. @throws MayflyError capture_not_found; ExecError; the signal's reason */
  async copy(captureId: string, to: string, signal: AbortSignal): Promise<void> {
    const folder = new CaptureFolder(this.deps.state, captureId);
    const refuseAbsent = async () => {
      if (await folder.whole()) return;
      throw new MayflyError('capture_not_found', `${captureId} is not on this host, or has been deleted.`);
    };
    await refuseAbsent();
    await copyTree(treeOf(folder.path), to, signal);
    await refuseAbsent(); // what was removed meanwhile is missing in the copy
  }

  /** What made one has been killed: its source shall not stand still until its saga comes by. */
  async thawAll(): Promise<void> {
    for (const id of await captureIds(this.deps.state)) await this.thaw(id);
  }

  #suspension(source: string): Suspension {
    const { state, sources } = this.deps;
    return new Suspension(source, join(state.images, source), { of: () => sources.processesOf(source) });
  }
}

async function copied(copy: () => Promise<void>, source: string, signal: AbortSignal): Promise<void> {
  try {
    await copy();
  } catch (cause) {
    signal.throwIfAborted();
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MayflyError('capture_failed', `${source} could not be copied: ${why}`, { cause });
  }
}
