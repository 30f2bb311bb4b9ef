import type { BakeRequest } from '../../host/baking.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import { MayflyError } from '../../model/errors.ts';
import { type BakedImage, isBakedSourceName } from '../../model/snapshots/baked-source.ts';
import { assertSpace } from '../../model/snapshots/storage.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';

/** Target of a bake's steps; `sandboxId` is the source's id, so steps for one name are queued. */
type BakeTarget = StepTarget & BakeRequest;

/** Activities that bake a source from a snapshot, their compensations, and its removal. */
export function createBakingActivities({ hypervisor }: { hypervisor: Pick<Hypervisor, 'baking' | 'disk'> }) {
  const { baking } = hypervisor;
  return {
    /** @throws MayflyError source_exists */
    async claimSourceName(request: BakeTarget): Promise<void> {
      await baking.claim(request);
    },
    /** @throws MayflyError bake_failed */
    async cleanGuest(request: BakeTarget): Promise<void> {
      await baking.clean(request, stepContext());
    },
    /** @throws MayflyError bake_failed */
    async shutDownGuest(request: BakeTarget): Promise<void> {
      await baking.shutDown(request, stepContext());
    },
    /** @throws MayflyError bake_failed, host_disk_full */
    async flattenDisks(request: BakeTarget): Promise<BakedImage> {
      assertSpace(await hypervisor.disk(), `The source ${request.name}`, await baking.sizeOf(request));
      return baking.flatten(request, stepContext());
    },
    /**
     * Copies the images of `like`; null: they must be built.
     * @throws MayflyError bake_failed, host_disk_full, and why `like` is unavailable for now
     */
    async copyBakedSource({ like, ...request }: BakeTarget & { like: string }): Promise<BakedImage | null> {
      if (!isBakedSourceName(like)) throw new MayflyError('request_refused', 'That is no name of a source.');
      const before = await baking.bakedOf(like, request.snapshotId);
      if (before === null) return null;
      assertSpace(await hypervisor.disk(), `The source ${request.name}`, before.sizeBytes);
      return baking.copyBaked(request, like, stepContext());
    },
    /** @throws MayflyError bake_failed, source_exists */
    async publishSource(request: BakeTarget): Promise<void> {
      await baking.publish(request, stepContext());
    },

    async retractSource(request: BakeTarget): Promise<void> {
      await baking.retract(request);
    },
    async discardImages(request: BakeTarget): Promise<void> {
      await baking.discard(request);
    },
    /** @throws MayflyError source_not_baked, source_running, source_in_use */
    async removeSource({ sourceId, name }: StepTarget & { sourceId: string; name: string }): Promise<void> {
      await baking.remove({ sourceId, name });
    },
  };
}
