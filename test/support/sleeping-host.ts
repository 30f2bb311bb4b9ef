import type { Failpoints } from '../../host/failpoints.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';

/**
 * Simulates hibernation on a simulated host: sandboxes are paused and keep their memory. @param asleep hibernated ones
 */
export function letSleep(hypervisor: Hypervisor, failpoints: Failpoints, asleep = new Set<string>()): void {
  const machines = hypervisor.machines.bind(hypervisor);
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
    async machines(ids) {
      const all = await machines(ids);
      return new Map(
        [...all].map(([id, state]) => [id, state === 'on' && asleep.has(id) ? ('hibernated' as const) : state]),
      );
    },
    async whereabouts(id) {
      const there = await whereabouts(id);
      return there.domain === 'paused' && asleep.has(id) ? { ...there, domain: 'hibernated' } : there;
    },
  } satisfies Partial<Hypervisor>);
}
