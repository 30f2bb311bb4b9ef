import type { Hypervisor } from '../../host/hypervisor.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';

/** The domain: the virtual machine as the hypervisor knows it. */
export function createDomainActivities({ hypervisor }: { hypervisor: Hypervisor }) {
  return {
    /** @throws MayflyError boot_failed, address_conflict, host_disk_full */
    async bootDomain({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.bootDomain(sandboxId, stepContext());
    },

    async removeDomain({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.removeDomain(sandboxId);
    },
  };
}

export type DomainActivities = ReturnType<typeof createDomainActivities>;
