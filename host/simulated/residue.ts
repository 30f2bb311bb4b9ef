import type { Observation } from '../../model/sandbox/proof.ts';
import type { Mark } from '../hypervisor.ts';
import { toObservation } from '../observation.ts';
import { entriesOf } from '../os/directory.ts';
import type { SimulatedLeases } from './machine/leases.ts';
import type { SimulatedMachine } from './machine.ts';

/** Residue of sandboxes on the machine, in the layers domain, lease and workspace. */
export class Residue {
  constructor(
    private readonly machine: SimulatedMachine,
    private readonly leases: SimulatedLeases,
  ) {}

  async look(sandboxId: string): Promise<Observation[]> {
    const workspace = await this.machine.workspace(sandboxId);
    const pids = await this.machine.processes.of(sandboxId);
    const leased = (await this.leases.list()).filter((lease) => lease.sandboxId === sandboxId);
    const addresses = leased.map((lease) => lease.address);
    const trees: string[] = [];
    for (const path of [workspace, `${workspace}.new`]) if ((await entriesOf(path)) !== null) trees.push(path);
    return [
      toObservation('domain', '/proc/*/root and /proc/*/cmdline', pids.map(String)),
      toObservation('lease', this.leases.path, addresses),
      toObservation('workspace', workspace, trees),
    ];
  }

  async marks(): Promise<Mark[]> {
    const running = [...(await this.machine.processes.look()).keys()];
    const leased = (await this.leases.list()).map((lease) => lease.sandboxId);
    const looks = [...new Set([...running, ...leased, ...(await this.machine.stored())])].map(async (sandboxId) => {
      const found = (await this.look(sandboxId)).filter((observation) => !observation.absent);
      return found.map((observation) => ({ sandboxId, observation }));
    });
    return (await Promise.all(looks)).flat();
  }
}
