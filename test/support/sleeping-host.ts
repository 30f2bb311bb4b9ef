import type { Failpoints } from '../../host/failpoints.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';

/**
 * Lets a simulated host hibernate, which it can't: here its sandboxes stand still and keep their memory. For all but the
 * host itself that is the same; what a real machine does is for test/host/libvirt/hibernation.e2e.test.ts.
 */
export function letSleep(hypervisor: Hypervisor, failpoints: Failpoints): void {
  const asleep = new Set<string>();
  const whereabouts = hypervisor.whereabouts.bind(hypervisor);
  const residentMib = hypervisor.residentMib.bind(hypervisor);
  Object.assign(hypervisor, {
    async hibernate(id) {
      await hypervisor.pause(id);
      await failpoints.hit('hibernate', 'during', id);
      asleep.add(id);
    },
    async wake(id, wished) {
      asleep.delete(id);
      await failpoints.hit('wake', 'during', id);
      await (wished === 'paused' ? hypervisor.pause(id) : hypervisor.resume(id));
    },
    async residentMib(id) {
      return asleep.has(id) ? 0 : residentMib(id);
    },
    async whereabouts(id) {
      const there = await whereabouts(id);
      return there.domain === 'paused' && asleep.has(id) ? { ...there, domain: 'hibernated' } : there;
    },
  } satisfies Partial<Hypervisor>);
}
