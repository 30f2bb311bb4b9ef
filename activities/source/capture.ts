import type { HostCaptures } from '../../host/captures.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import type { Ledger } from '../../host/ledger.ts';
import type { SavedCapture } from '../../model/snapshots/capture.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';

/** `sandboxId` is the capture's id: its steps take turns as a sandbox's do. */
interface CaptureTarget extends StepTarget {
  /** As the machine names it. */
  source: string;
}

interface CaptureDeps {
  hypervisor: Pick<Hypervisor, 'capacity'> & { captures: HostCaptures };
  ledger: Ledger;
}

export function createCaptureActivities({ hypervisor, ledger }: CaptureDeps) {
  const { captures } = hypervisor;
  return {
    /** Promises it the room that it may take. @throws MayflyError capacity_exhausted, source_not_found, source_not_running */
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
    /** Also takes back its promise, which stays when a capture's workflow was terminated. @throws MayflyError capture_in_use */
    async removeCapture({ sandboxId }: CaptureTarget): Promise<void> {
      await captures.remove(sandboxId);
      await ledger.release(sandboxId);
    },
    async releaseCapture({ sandboxId }: CaptureTarget): Promise<void> {
      await ledger.release(sandboxId);
    },
  };
}
