import type { MachineState } from '../../../model/sandbox/machine-end.ts';
import type { SavedMemory } from '../client/saved-memory.ts';
import { orRefused, type Virsh } from '../client/virsh.ts';
import { endOf, hasFailedDisk, machineStates, type NumberedState } from '../output/machine-states.ts';

/** How the machines of sandboxes are, for whoever has to notice that one is dead. */
export class Machines {
  constructor(private readonly deps: { virsh: Virsh; saved: SavedMemory }) {}

  /** One question to libvirt for all; one more for each whose disk has failed. */
  async of(sandboxIds: readonly string[]): Promise<Map<string, MachineState>> {
    const found = machineStates(await this.deps.virsh.run(['domstats', '--state']));
    const states = sandboxIds.map(async (id) => [id, await this.#of(id, found.get(id))] as const);
    return new Map(await Promise.all(states));
  }

  /** Its disk has failed, and not for want of room, which its host sees to (worker/upkeep/storage-watch.ts). */
  async hasFailedDisk(sandboxId: string): Promise<boolean> {
    const errors = await orRefused(this.deps.virsh.run(['domblkerror', sandboxId]));
    return errors !== null && hasFailedDisk(errors); // null: off or gone meanwhile
  }

  async #of(sandboxId: string, numbers: NumberedState | undefined): Promise<MachineState> {
    if (!numbers) return 'lost';
    const end = endOf(numbers);
    if (end === 'stopped') return (await this.deps.saved.isThere(sandboxId)) ? 'hibernated' : 'stopped';
    if (end === 'paused-by-error') return (await this.hasFailedDisk(sandboxId)) ? 'io-error' : 'on';
    return end;
  }
}
