import type { HostCaptures } from '../../host/captures.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import type { Ledger } from '../../host/ledger.ts';
import type { SavedCapture } from '../../model/snapshots/capture.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';

/** Target of a capture's steps; `sandboxId` is the capture's id, whose steps are queued like a sandbox's. */
interface CaptureTarget extends StepTarget {
  /** Name of the machine. */
  source: string;
}

interface CaptureDeps {
  hypervisor: Pick<Hypervisor, 'capacity'> & { captures: HostCaptures };
  ledger: Ledger;
}

export function createCaptureActivities({ hypervisor, ledger }: CaptureDeps) {
  const { captures } = hypervisor;
  return {
    /**
     * Reserves its largest possible size.
     * @throws MayflyError capacity_exhausted, source_not_found, source_not_running
     */
    async reserveCapture({ sandboxId, source }: CaptureTarget): Promise<void> {
      const diskBytes = await captures.sizeOf(source);
      await ledger.reserve({ sandboxId, memoryMib: 0, diskBytes }, await hypervisor.capacity());
    },
    /** @throws MayflyError capture_failed, source_not_found, source_not_running, source_unsafe */
    async beginCapture({ sandboxId: captureId, source }: CaptureTarget): Promise<void> {
      await captures.begin({ captureId, source }, stepContext());
    },
    /** @throws MayflyError capture_failed */
    async awaitCapture({ sandboxId }: CaptureTarget): Promise<void> {
      await captures.wait(sandboxId, stepContext());
    },
    /** @throws MayflyError capture_failed */
    async verifyCapture({ sandboxId }: CaptureTarget): Promise<SavedCapture> {
      return captures.verify(sandboxId, stepContext());
    },
    /** @throws MayflyError capture_failed */
    async keepCapture({ sandboxId }: CaptureTarget): Promise<void> {
      await captures.keep(sandboxId);
    },

    async thawSource({ sandboxId }: CaptureTarget): Promise<void> {
      await captures.thaw(sandboxId);
    },
    async abortCapture({ sandboxId }: CaptureTarget): Promise<void> {
      await captures.abort(sandboxId);
    },
    /** Also releases its reservation, which outlives a terminated workflow. @throws MayflyError capture_in_use */
    async removeCapture({ sandboxId }: CaptureTarget): Promise<void> {
      await captures.remove(sandboxId);
      await ledger.release(sandboxId);
    },
    async releaseCapture({ sandboxId }: CaptureTarget): Promise<void> {
      await ledger.release(sandboxId);
    },
  };
}
