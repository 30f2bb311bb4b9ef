import type { Clone, Hypervisor } from '../../host/hypervisor.ts';
import type { Credentials } from '../../host/ssh/credentials.ts';
import { stepContext } from '../step/step-context.ts';
import type { CloneDiskInput, StepTarget } from '../step/steps.ts';

/** What a sandbox is made of: linked clone of the golden disk, seed, its host key, and the host's own key to it. */
export function createDiskActivities({
  hypervisor,
  credentials,
}: {
  hypervisor: Hypervisor;
  credentials: Credentials;
}) {
  return {
    /** @throws MayflyError source_not_found, source_running, source_unsafe, source_changed, clone_failed, snapshot_not_found, capture_not_found */
    async cloneDisk(request: CloneDiskInput): Promise<Clone & { loginKey: string }> {
      const { publicKey: loginKey } = await credentials.makeCredentials(request.sandboxId);
      return { ...(await hypervisor.cloneDisk(request, stepContext())), loginKey };
    },

    async removeWorkspace({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.removeWorkspace(sandboxId);
    },
  };
}

export type DiskActivities = ReturnType<typeof createDiskActivities>;
