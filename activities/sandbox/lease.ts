import type { Hypervisor, Lease } from '../../host/hypervisor.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';

/** The address a guest leased by DHCP. */
export function createLeaseActivities({ hypervisor }: { hypervisor: Hypervisor }) {
  return {
    /** @throws MayflyError ip_timeout, boot_failed */
    async awaitIp({ sandboxId }: StepTarget): Promise<Lease> {
      return hypervisor.awaitLease(sandboxId, stepContext());
    },

    async releaseLease({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.releaseLease(sandboxId);
    },
  };
}

export type LeaseActivities = ReturnType<typeof createLeaseActivities>;
