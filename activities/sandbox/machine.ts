import type { Hypervisor, Whereabouts } from '../../host/hypervisor.ts';
import type { Ledger } from '../../host/ledger.ts';
import type { Credentials } from '../../host/ssh/credentials.ts';
import { MayflyError } from '../../model/errors.ts';

/** What there is of sandboxes on this machine. Changes nothing, so it waits for no step. */
export function createMachineActivities(deps: { hypervisor: Hypervisor; credentials: Credentials; ledger: Ledger }) {
  const { hypervisor, credentials, ledger } = deps;
  return {
    /** @throws MayflyError sandbox_not_running when it is off or gone */
    async findMachine({ sandboxId }: { sandboxId: string }): Promise<Pick<Whereabouts, 'domain'>> {
      const { domain } = await hypervisor.whereabouts(sandboxId);
      if (domain !== 'off' && domain !== 'absent') return { domain };
      throw new MayflyError(
        'sandbox_not_running',
        `Its machine is ${domain === 'off' ? 'off' : 'not there any more'}.`,
      );
    },

    /** The ids of all sandboxes of which something is here that carries our mark. */
    async markedSandboxes(): Promise<{ sandboxIds: string[] }> {
      const marks = (await Promise.all([hypervisor.marks(), credentials.marks(), ledger.marks()])).flat();
      return { sandboxIds: [...new Set(marks.map(({ sandboxId }) => sandboxId))].sort() };
    },
  };
}

export type MachineActivities = ReturnType<typeof createMachineActivities>;
