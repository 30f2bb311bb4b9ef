import type { MachineState } from '../../../model/sandbox/machine-end.ts';
import type { SavedMemory } from '../client/saved-memory.ts';
import { nullIfRefused, type Virsh } from '../client/virsh.ts';
import { classifyState, hasFailedDisk, machineStates, type NumberedState } from '../output/machine-states.ts';

/** States of sandboxes' machines, for the detection of dead ones. */
export class Machines {
  constructor(private readonly deps: { virsh: Virsh; saved: SavedMemory }) {}

  /** Queries libvirt once for all, and once for each machine with a failed disk. */
  async of(sandboxIds: readonly string[]): Promise<Map<string, MachineState>> {
    const found = machineStates(await this.deps.virsh.run(['domstats', '--state']));
    const states = sandboxIds.map(async (id) => [id, await this.#of(id, found.get(id))] as const);
    return new Map(await Promise.all(states));
  }

  /** True for a failed disk, except lack of space, which the storage watch handles (worker/upkeep/storage-watch.ts). */
  async hasFailedDisk(sandboxId: string): Promise<boolean> {
    const errors = await nullIfRefused(this.deps.virsh.run(['domblkerror', sandboxId]));
    return errors !== null && hasFailedDisk(errors); // null: off or removed by now
  }

  async #of(sandboxId: string, numbers: NumberedState | undefined): Promise<MachineState> {
    if (!numbers) return 'lost';
    const end = classifyState(numbers);
    if (end === 'stopped') return (await this.deps.saved.isThere(sandboxId)) ? 'hibernated' : 'stopped';
    if (end === 'paused-by-error') return (await this.hasFailedDisk(sandboxId)) ? 'io-error' : 'on';
    return end;
  }
}
