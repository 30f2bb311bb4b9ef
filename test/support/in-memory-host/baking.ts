import type { BakeRequest, HostBaking } from '../../../host/baking.ts';
import type { Failpoints } from '../../../host/failpoints.ts';
import type { StepContext } from '../../../host/step-context.ts';
import { MayflyError } from '../../../model/errors.ts';
import type { BakedImage } from '../../../model/snapshots/baked-source.ts';
import { describeDisk, type InMemoryMachine, sizeOf } from './machine.ts';

/** Sources baked by a machine in memory: copies of the builder's disk. */
export class InMemoryBaking implements HostBaking {
  constructor(
    private readonly machine: InMemoryMachine,
    private readonly failpoints: Failpoints,
  ) {}

  async claim({ name, bakeId, sourceId }: BakeRequest): Promise<void> {
    if (this.#isPublished(name, bakeId)) return;
    this.#refuseTaken(name);
    if (this.machine.staged.get(name)?.bakeId === bakeId) return;
    this.machine.staged.set(name, { bakeId, sourceId, files: new Map(), image: null });
  }

  async clean({ builderId }: BakeRequest, { signal }: StepContext): Promise<void> {
    signal.throwIfAborted();
    if (this.machine.isOn(builderId)) return;
    throw new MayflyError('bake_failed', `${builderId} does not run any more, so it cannot be cleaned.`);
  }

  async shutDown({ builderId }: BakeRequest): Promise<void> {
    this.machine.domains.delete(builderId);
  }

  async sizeOf({ builderId, name, bakeId }: BakeRequest): Promise<number> {
    if (this.#isPublished(name, bakeId) || this.#stagedImage(name, bakeId)) return 0;
    return sizeOf(this.machine.workspaces.get(builderId)?.files ?? new Map());
  }

  async flatten(request: BakeRequest, { signal }: StepContext): Promise<BakedImage> {
    const { builderId, name, bakeId } = request;
    signal.throwIfAborted();
    const made = this.machine.images.get(name)?.baked ?? null;
    if (made?.bakeId === bakeId) return made.image;
    const present = this.#stagedImage(name, bakeId);
    if (present) return present;
    if (this.machine.isOn(builderId)) {
      throw new MayflyError('bake_failed', `${builderId} runs, so its disk is being written.`);
    }
    const staged = this.machine.staged.get(name);
    const builder = this.machine.workspaces.get(builderId);
    if (staged?.bakeId !== bakeId || !builder?.clone) {
      throw new MayflyError('bake_failed', `${name} is not claimed any more, or ${builderId} is gone.`);
    }
    staged.files = builder.files;
    await this.failpoints.hit('flattenDisks', 'during', idsOf(request), signal);
    const disk = describeDisk(staged.files);
    staged.image = { disks: [disk], sizeBytes: disk.storedBytes };
    return staged.image;
  }

  async bakedOf(like: string, snapshotId: string): Promise<BakedImage | null> {
    const image = this.machine.images.get(like);
    return image?.baked?.snapshotId === snapshotId && !image.isRunning ? image.baked.image : null;
  }

  async copyBaked({ name, bakeId, snapshotId }: BakeRequest, like: string): Promise<BakedImage | null> {
    const image = await this.bakedOf(like, snapshotId);
    const staged = this.machine.staged.get(name);
    if (!image || staged?.bakeId !== bakeId) return null;
    staged.files = this.machine.images.get(like)?.files ?? new Map();
    staged.image = image;
    return image;
  }

  async publish(request: BakeRequest, { signal }: StepContext): Promise<void> {
    const { name, bakeId, sourceId, snapshotId } = request;
    await this.failpoints.hit('publishSource', 'during', idsOf(request), signal);
    if (this.#isPublished(name, bakeId)) return;
    this.#refuseTaken(name);
    const staged = this.machine.staged.get(name);
    if (staged?.bakeId !== bakeId || !staged.image) {
      throw new MayflyError('bake_failed', `${name} has no images of this bake.`);
    }
    this.machine.staged.delete(name);
    const { files, image } = staged;
    this.machine.images.set(name, { files, isRunning: false, baked: { bakeId, sourceId, snapshotId, image } });
  }

  async retract({ name, bakeId }: BakeRequest): Promise<void> {
    if (this.#isPublished(name, bakeId)) this.machine.images.delete(name);
  }

  async discard({ name, bakeId }: BakeRequest): Promise<void> {
    if (this.machine.staged.get(name)?.bakeId === bakeId) this.machine.staged.delete(name);
  }

  async remove({ sourceId, name }: { sourceId: string; name: string }): Promise<void> {
    if (this.machine.staged.get(name)?.sourceId === sourceId) this.machine.staged.delete(name);
    const image = this.machine.images.get(name);
    if (!image) return;
    if (image.baked?.sourceId !== sourceId) {
      throw new MayflyError('source_not_baked', `${name} is not of this Mayfly's making, and stays.`);
    }
    if (image.isRunning) throw new MayflyError('source_running', `${name} runs: stop it first.`);
    await this.failpoints.hit('removeSource', 'during', sourceId);
    this.machine.images.delete(name);
  }

  #isPublished(name: string, bakeId: string): boolean {
    return this.machine.images.get(name)?.baked?.bakeId === bakeId;
  }

  #stagedImage(name: string, bakeId: string): BakedImage | null {
    const staged = this.machine.staged.get(name);
    return staged?.bakeId === bakeId ? staged.image : null;
  }

  #refuseTaken(name: string): void {
    if (this.machine.images.has(name)) throw new MayflyError('source_exists', `This host has images named ${name}.`);
  }
}

function idsOf({ bakeId, sourceId, builderId, snapshotId }: BakeRequest): string[] {
  return [bakeId, sourceId, builderId, snapshotId];
}
