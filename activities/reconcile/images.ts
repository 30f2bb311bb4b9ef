import { heartbeat } from '@temporalio/activity';
import { type ImageRecord, listBuildSandboxes } from '../../model/image/image.ts';
import { imageWorkflowId } from '../../model/image/image-saga.ts';
import { LIMITS } from '../../model/limits.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { END_TIMEOUT_MS, endSandboxes } from './ended-sandboxes.ts';
import { failImage } from './fail-task.ts';
import { findLost } from './find-lost.ts';

const LOST = {
  code: 'image_failed',
  message: 'Its saga was lost with what Temporal knew. Asked for again, it begins at the last step that was done.',
} as const;

export function createImageReconcileActivities({ store, reconciliation }: SagaDeps) {
  /** Removes contexts that have been unused for long and that no running build uses. */
  async function removeUnusedContexts(underWay: readonly ImageRecord[]): Promise<void> {
    const { sentContextHours, halfSentMinutes } = LIMITS.image;
    const halfBefore = new Date(Date.now() - halfSentMinutes * 60_000);
    for (const { id } of await store.sentContexts.unused(halfBefore, true)) {
      heartbeat();
      await store.sentContexts.remove(id, halfBefore);
    }
    const before = new Date(Date.now() - sentContextHours * 3_600_000);
    for (const { id, project, digest } of await store.sentContexts.unused(before)) {
      heartbeat();
      const isUsed = underWay.some((image) => image.project === project && image.request.context?.digest === digest);
      if (!isUsed) await store.sentContexts.remove(id, before);
    }
  }

  return {
    /**
     * Starts builds that the API stored but did not start. Fails those that lost their workflow, after ending their
     * sandboxes; the next build reuses their finished steps.
     */
    async resumeImages({ graceMs }: { graceMs: number }): Promise<void> {
      const waitUntil = Date.now() + END_TIMEOUT_MS;
      const all = await store.images.underWay();
      await removeUnusedContexts(all);
      const lost = findLost({ reconciliation, graceMs }, all, (image) => ({
        since: image.updatedAt,
        workflowIds: [imageWorkflowId(image)],
      }));
      for await (const record of lost) {
        const { state, begin } = record;
        if (state === 'queued' && begin) {
          await reconciliation.images.build(begin);
          continue;
        }
        if (!(await endSandboxes({ store, reconciliation }, listBuildSandboxes(record), waitUntil))) continue;
        const at = new Date().toISOString();
        await failImage(store, record, { failure: LOST, actor: null, hostId: null, at });
      }
    },
  };
}
