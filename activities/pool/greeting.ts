import { Context } from '@temporalio/activity';
import type { GuestConnections } from '../../host/guest/connections.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import { succeeds } from '../../host/os/absent.ts';

/** Timeout of a guest's answer, ms: a healthy guest takes milliseconds, a busy machine longer. */
const SILENT_AFTER_MS = 5_000;

interface GreetingDeps {
  hypervisor: Pick<Hypervisor, 'source'>;
  guests: Pick<GuestConnections, 'greet'>;
}

/** Activities that probe pool members on their host. They run nothing in a guest, and skip its queue. */
export function createProbeActivities({ hypervisor, guests }: GreetingDeps) {
  return {
    /**
     * Probes a guest.
     * @returns digest of its source's current content; null: unknown
     * @throws MayflyError guest_unreachable, source_not_found
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
