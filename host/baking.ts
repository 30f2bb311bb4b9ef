import type { BakedImage } from '../model/snapshots/baked-source.ts';
import type { StepContext } from './step-context.ts';

export interface BakeRequest {
  bakeId: string;
  sourceId: string;
  /** Name of the new source; see {@link isBakedSourceName} of model/snapshots/baked-source.ts. */
  name: string;
  snapshotId: string;
  /** Sandbox forked from the snapshot; it is cleaned and shut down, and its disks become the source's. */
  builderId: string;
}

/**
 * Makes sources of snapshots on one machine. As with {@link Hypervisor}, every method that changes something is
 * idempotent, keyed by the bake; removing an absent thing succeeds. The caller keeps other bakes off the same name.
 */
export interface HostBaking {
  /** Claims the name. @throws MayflyError source_exists */
  claim(request: BakeRequest): Promise<void>;
  /** Removes the running builder's identity (keys, ids, logs). @throws MayflyError bake_failed */
  clean(request: BakeRequest, context: StepContext): Promise<void>;
  /** Shuts the builder down from within, and waits until it is off. @throws MayflyError bake_failed */
  shutDown(request: BakeRequest, context: StepContext): Promise<void>;
  /** Returns the most that {@link flatten} still writes, bytes; 0 without a builder. @throws MayflyError bake_failed */
  sizeOf(request: BakeRequest): Promise<number>;
  /**
   * Copies the builder's disks to standalone images under the claimed name's temporary one, and checks them.
   * @throws MayflyError bake_failed
   */
  flatten(request: BakeRequest, context: StepContext): Promise<BakedImage>;
  /**
   * Returns the images of the source `like` when it is at rest and was baked of the same snapshot; else null.
   * {@link copyBaked} can then replace a new bake.
   */
  bakedOf(like: string, snapshotId: string): Promise<BakedImage | null>;
  /**
   * Copies the images of the source `like` and verifies the copy, instead of {@link clean}, {@link shutDown} and
   * {@link flatten}. @returns null, with nothing copied, when they changed or {@link bakedOf} does not match
   * @throws MayflyError bake_failed, or why `like` is unavailable for now
   */
  copyBaked(request: BakeRequest, like: string, context: StepContext): Promise<BakedImage | null>;
  /** Gives the images their final name and defines the source. @throws MayflyError bake_failed, source_exists */
  publish(request: BakeRequest, context: StepContext): Promise<void>;

  /** Undoes {@link publish}. @throws MayflyError source_in_use when the source is cloned already */
  retract(request: BakeRequest): Promise<void>;
  /** Undoes {@link claim} and {@link flatten}. */
  discard(request: BakeRequest): Promise<void>;
  /** Removes a baked source, with its images. @throws MayflyError source_not_baked, source_running, source_in_use */
  remove(source: { sourceId: string; name: string }): Promise<void>;
}
