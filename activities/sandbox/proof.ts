import type { Hypervisor } from '../../host/hypervisor.ts';
import type { Ledger } from '../../host/ledger.ts';
import type { Credentials } from '../../host/ssh/credentials.ts';
import type { Observer } from '../../model/host.ts';
import type { LookResult, StepTarget } from '../step/steps.ts';

export interface ProofDeps {
  hypervisor: Hypervisor;
  credentials: Credentials;
  ledger: Ledger;
  /** Who looks, and at which machine. */
  observer: Observer;
}

/** The last word of a destroy: not what was done, but what is there. */
export function createProofActivities({ hypervisor, credentials, ledger, observer }: ProofDeps) {
  return {
    /** Looks at every layer of the host for anything that carries the sandbox's name. Changes nothing. */
    async lookAgain({ sandboxId }: StepTarget): Promise<LookResult> {
      const looks = await Promise.all([
        credentials.look(sandboxId),
        hypervisor.look(sandboxId),
        ledger.look(sandboxId),
      ]);
      return { observations: looks.flat().map((look) => ({ ...look, by: observer })) };
    },
  };
}
