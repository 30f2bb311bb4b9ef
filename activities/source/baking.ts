import type { BakeRequest } from '../../host/baking.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import { MayflyError } from '../../model/errors.ts';
import { type BakedImage, isBakedSourceName } from '../../model/snapshots/baked-source.ts';
import { refuseFull } from '../../model/snapshots/storage.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';

/** `sandboxId` is the source's id: what is done to one name takes turns. */
type BakeTarget = StepTarget & BakeRequest;

/** The steps that make a source of a snapshot, their undos, and a source's end. */
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
      refuseFull(await hypervisor.disk(), `The source ${request.name}`, await baking.sizeOf(request));
      return baking.flatten(request, stepContext());
    },
    /** Null: it has to be made anew. @throws MayflyError bake_failed, host_disk_full, and what keeps others from `like` for now */
    async copyBakedSource({ like, ...request }: BakeTarget & { like: string }): Promise<BakedImage | null> {
      if (!isBakedSourceName(like)) throw new MayflyError('request_refused', 'That is no name of a source.');
      const before = await baking.bakedOf(like, request.snapshotId);
      if (before === null) return null;
      refuseFull(await hypervisor.disk(), `The source ${request.name}`, before.sizeBytes);
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
