import type { BakedImage } from '../model/snapshots/baked-source.ts';
import type { StepContext } from './step-context.ts';

export interface BakeRequest {
  /** Names this one bake. */
  bakeId: string;
  sourceId: string;
  /** What the source will be called; {@link isBakedSourceName} of model/snapshots/baked-source.ts. */
  name: string;
  snapshotId: string;
  /** The sandbox that was made of the snapshot, to be cleaned, shut down and taken for the source's disks. */
  builderId: string;
}

/**
 * How a machine makes a source of a snapshot. As with {@link Hypervisor}, every method that changes something is an
 * "ensure", keyed by the bake, and "remove" of what is not there succeeds. Nobody else works on the same name meanwhile.
 */
export interface HostBaking {
  /** Takes the name. @throws MayflyError source_exists */
  claim(request: BakeRequest): Promise<void>;
  /** Takes from the running builder what makes it that sandbox. @throws MayflyError bake_failed */
  clean(request: BakeRequest, context: StepContext): Promise<void>;
  /** Has the builder shut itself down, and returns when it is off. @throws MayflyError bake_failed */
  shutDown(request: BakeRequest, context: StepContext): Promise<void>;
  /** The most that {@link flatten} still writes, bytes; 0 when there is no builder. @throws MayflyError bake_failed */
  sizeOf(request: BakeRequest): Promise<number>;
  /** Copies the builder's disks to images that refer to nothing, under the claimed name's temporary one, and checks them. @throws MayflyError bake_failed */
  flatten(request: BakeRequest, context: StepContext): Promise<BakedImage>;
  /**
   * What the source `like` was made of when it was baked of the same snapshot, and lies still: by {@link copyBaked}
   * that need not be done again. Null: there is none such.
   */
  bakedOf(like: string, snapshotId: string): Promise<BakedImage | null>;
  /**
   * In place of {@link clean}, {@link shutDown} and {@link flatten}: copies the images of the source `like`, and checks that they
   * are what it was made of. Null: they are not, or it is not what {@link bakedOf} says; then nothing is copied.
   * @throws MayflyError bake_failed, or what keeps others from `like` for now
   */
  copyBaked(request: BakeRequest, like: string, context: StepContext): Promise<BakedImage | null>;
  /** Gives the images their name and makes them a source. @throws MayflyError bake_failed, source_exists */
  publish(request: BakeRequest, context: StepContext): Promise<void>;

  /** Takes back {@link publish}. @throws MayflyError source_in_use when somebody has cloned it already */
  retract(request: BakeRequest): Promise<void>;
  /** Takes back {@link claim} and {@link flatten}. */
  discard(request: BakeRequest): Promise<void>;
  /**
   * Removes a source that was baked, with its images.
   * @throws MayflyError source_not_baked, source_running, source_in_use
   */
  remove(source: { sourceId: string; name: string }): Promise<void>;
}
