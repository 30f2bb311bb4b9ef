import type { Clone, Hypervisor } from '../host/hypervisor.ts';
import { stepContext } from './step-context.ts';
import type { CloneDiskInput, StepTarget } from './steps.ts';

/** The workspace of a sandbox on its host: linked clone of the golden disk, seed, host key. */
export function createDiskActivities({ hypervisor }: { hypervisor: Hypervisor }) {
  return {
    /** @throws MayflyError source_not_found, source_running, source_unsafe, source_changed, clone_failed */
    async cloneDisk(request: CloneDiskInput): Promise<Clone> {
      return hypervisor.cloneDisk(request, stepContext());
    },

    async removeWorkspace({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.removeWorkspace(sandboxId);
    },
  };
}

export type DiskActivities = ReturnType<typeof createDiskActivities>;
