import type { Hypervisor } from '../../host/hypervisor.ts';
import type { MachineState } from '../../model/sandbox/machine-end.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';

/** The domain: the virtual machine as the hypervisor knows it. */
export function createDomainActivities({ hypervisor }: { hypervisor: Hypervisor }) {
  return {
    /** @throws MayflyError boot_failed, address_conflict, host_disk_full */
    async bootDomain({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.bootDomain(sandboxId, stepContext());
    },

    /** How its machine is now. No step: it changes nothing, and may be asked at any time. @throws MayflyError host_unavailable */
    async lookAtMachine({ sandboxId }: Pick<StepTarget, 'sandboxId'>): Promise<{ state: MachineState }> {
      return { state: (await hypervisor.machines([sandboxId])).get(sandboxId) ?? 'lost' };
    },

    async removeDomain({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.removeDomain(sandboxId);
    },
  };
}

export type DomainActivities = ReturnType<typeof createDomainActivities>;
