import { Context } from '@temporalio/activity';
import type { GuestConnections } from '../../host/guest/connections.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import { succeeds } from '../../host/os/absent.ts';

/** A guest that is well answers within some milliseconds; a busy machine is given time. Milliseconds. */
const SILENT_AFTER_MS = 5_000;

interface GreetingDeps {
  hypervisor: Pick<Hypervisor, 'source'>;
  guests: Pick<GuestConnections, 'greet'>;
}

/** How members of pools are, on their host. They run nothing in a guest, and wait for no turn. */
export function createGreetingActivities({ hypervisor, guests }: GreetingDeps) {
  return {
    /**
     * @returns what its source holds now; null: nobody has read it, or that can't be told @throws MayflyError
     * guest_unreachable, source_not_found
     */
    async greet({ sandboxId, source }: { sandboxId: string; source: string }): Promise<{ content: string | null }> {
      const signal = Context.current().cancellationSignal;
      const [{ content = null }] = await Promise.all([
        hypervisor.source(source),
        guests.greet(sandboxId, { signal, alive: () => undefined }),
      ]);
      return { content };
    },

    async silentAmong({ sandboxIds }: { sandboxIds: string[] }): Promise<{ sandboxIds: string[] }> {
      const cancelled = Context.current().cancellationSignal;
      const answers = async (sandboxId: string) => {
        const signal = AbortSignal.any([cancelled, AbortSignal.timeout(SILENT_AFTER_MS)]);
        return succeeds(guests.greet(sandboxId, { signal, alive: () => undefined }));
      };
      const answered = await Promise.all(sandboxIds.map(answers));
      return { sandboxIds: sandboxIds.filter((_, n) => !answered[n]) };
    },
  };
}
