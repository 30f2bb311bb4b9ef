import { rm } from 'node:fs/promises';
import { MayflyError } from '../../../model/errors.ts';
import type { BakedImage } from '../../../model/snapshots/baked-source.ts';
import type { BakeRequest, HostBaking } from '../../baking.ts';
import { BakedFolder } from '../../disk/baked-folder.ts';
import type { Failpoints } from '../../failpoints.ts';
import { entriesOf } from '../../os/directory.ts';
import type { StateDir } from '../../state-dir.ts';
import type { StepContext } from '../../step-context.ts';
import { allocatedBytes } from '../disk/disk-usage.ts';
import { copyTree, digestOfTree, removeTree } from '../disk/tree.ts';
import { cleanTree } from '../machine/identity.ts';
import { describeImage } from '../machine/image.ts';
import { orStepFailure } from '../machine/step-failure.ts';
import { diskOfTree, treeOf } from '../saved/tree-folder.ts';
import type { SimulatedSources } from './running-source.ts';

interface Builder {
  isOn(sandboxId: string): Promise<boolean>;
  stop(sandboxId: string): Promise<void>;
  /** Returns its folder, existing or not. */
  workspace(sandboxId: string): Promise<string>;
}

interface BakingDeps {
  state: StateDir;
  failpoints: Failpoints;
  builder: Builder;
  sources: SimulatedSources;
}

/**
 * Baking on a simulated host, whose sources are trees: the builder's is copied when it is off, and the copy is cleaned.
 */
export class SimulatedBaking implements HostBaking {
  constructor(private readonly deps: BakingDeps) {}

  async claim(request: BakeRequest): Promise<void> {
    await this.#folder(request.name).stage(request);
  }

  /** Only checks that the builder runs: the host cleans the copy later. */
  async clean({ builderId }: BakeRequest, { signal }: StepContext): Promise<void> {
    signal.throwIfAborted();
    if (await this.deps.builder.isOn(builderId)) return;
    throw new MayflyError('bake_failed', `${builderId} does not run any more, so it cannot be cleaned.`);
  }

  async shutDown({ builderId }: BakeRequest): Promise<void> {
    await this.deps.builder.stop(builderId);
  }

  async sizeOf(request: BakeRequest): Promise<number> {
    if (await this.#folder(request.name).imageOf(request)) return 0;
    const root = treeOf(await this.deps.builder.workspace(request.builderId));
    return (await entriesOf(root)) === null ? 0 : allocatedBytes(root);
  }

  async flatten(request: BakeRequest, { signal }: StepContext): Promise<BakedImage> {
    const { builder, failpoints } = this.deps;
    if (await builder.isOn(request.builderId)) {
      throw new MayflyError('bake_failed', `${request.builderId} runs, so its disk is being written.`);
    }
    const from = treeOf(await builder.workspace(request.builderId));
    const fill = async (folder: string) => {
      const root = await freshCopy(from, folder, signal);
      await failpoints.hit('flattenDisks', 'during', idsOf(request), signal);
      await cleanTree(root);
      const disk = await diskOfTree(root, signal);
      await describeImage(folder, disk.virtualBytes, disk.sha256);
      return { disks: [disk], sizeBytes: disk.storedBytes };
    };
    const step = () => this.#folder(request.name).fill(request, fill);
    return await orStepFailure(step, 'bake_failed', `The disk of ${request.builderId} could not be copied`, signal);
  }

  async bakedOf(like: string, snapshotId: string): Promise<BakedImage | null> {
    if (await this.deps.sources.isRunning(like)) return null;
    return await this.#folder(like).madeOf(snapshotId);
  }

  async copyBaked(request: BakeRequest, like: string, { signal }: StepContext): Promise<BakedImage | null> {
    const before = await this.bakedOf(like, request.snapshotId);
    const [made] = before?.disks ?? [];
    if (!before || !made) return null;
    const fill = async (folder: string) => {
      const root = await freshCopy(treeOf(this.#folder(like).path), folder, signal);
      if ((await digestOfTree(root, signal)) === made.sha256) {
        await describeImage(folder, made.virtualBytes, made.sha256);
        return before;
      }
      await removeTree(root);
      return null;
    };
    const step = () => this.#folder(request.name).fill(request, fill);
    return await orStepFailure(step, 'bake_failed', `The images of ${like} could not be copied`, signal);
  }

  async publish(request: BakeRequest, { signal }: StepContext): Promise<void> {
    await this.deps.failpoints.hit('publishSource', 'during', idsOf(request), signal);
    await this.#folder(request.name).publish(request);
  }

  async retract({ name, bakeId }: BakeRequest): Promise<void> {
    const folder = this.#folder(name);
    if (await folder.isOf(bakeId)) await folder.drop();
  }

  async discard(request: BakeRequest): Promise<void> {
    await this.#folder(request.name).discard(request);
  }

  /** Removes the source without a check for referrers: clones are copies. */
  async remove({ sourceId, name }: { sourceId: string; name: string }): Promise<void> {
    const folder = this.#folder(name);
    await folder.discard({ sourceId });
    if (!(await folder.isThere(sourceId))) return folder.sweep();
    if (await this.deps.sources.isRunning(name))
      throw new MayflyError('source_running', `${name} runs: stop it first.`);
    await this.deps.failpoints.hit('removeSource', 'during', sourceId);
    await folder.drop();
  }

  #folder(name: string): BakedFolder {
    return new BakedFolder(this.deps.state.images, name);
  }
}

/** Copies a tree into a folder, replacing its content. @returns path of the copy */
async function freshCopy(from: string, folder: string, signal: AbortSignal): Promise<string> {
  const root = treeOf(folder);
  await rm(root, { recursive: true, force: true });
  await copyTree(from, root, signal);
  return root;
}

function idsOf({ bakeId, sourceId, builderId, snapshotId }: BakeRequest): string[] {
  return [bakeId, sourceId, builderId, snapshotId];
}
