import type { Clone, Hypervisor } from '../../host/hypervisor.ts';
import type { Credentials } from '../../host/ssh/credentials.ts';
import { MayflyError } from '../../model/errors.ts';
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
  /** @throws MayflyError source_differs */
  async function refuseOther(source: string, content: string): Promise<void> {
    if ((await hypervisor.contentOf(source, stepContext())) === content) return;
    throw new MayflyError(
      'source_differs',
      `The source ${JSON.stringify(source)} does not hold here what it holds on other hosts: one name, and different disks.`,
    );
  }

  return {
    /** @throws MayflyError source_not_found, source_running, source_unsafe, source_changed, source_differs, clone_failed, snapshot_not_found, capture_not_found */
    async cloneDisk({ content, ...request }: CloneDiskInput): Promise<Clone & { loginKey: string }> {
      if (content !== undefined) await refuseOther(request.source, content);
      const { publicKey: loginKey } = await credentials.makeCredentials(request.sandboxId);
      return { ...(await hypervisor.cloneDisk(request, stepContext())), loginKey };
    },

    async removeWorkspace({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.removeWorkspace(sandboxId);
    },
  };
}

export type DiskActivities = ReturnType<typeof createDiskActivities>;
