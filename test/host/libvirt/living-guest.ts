import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { Clone, StepContext } from '../../../host/hypervisor.ts';
import { ID_BYTES, sandboxIdFrom, snapshotIdFrom } from '../../../model/ids.ts';
import type { SavedSnapshot } from '../../../model/snapshot.ts';
import type { TestCa } from './guest.ts';
import type { TestMachine } from './machine.ts';

export const stepContext = (): StepContext => ({ signal: AbortSignal.timeout(120_000), alive: () => {} });

/** A sandbox that runs, and is logged in to by plain ssh. */
export class LivingGuest {
  private address = '';

  private constructor(
    private readonly machine: TestMachine,
    private readonly ca: TestCa,
    readonly id: string,
    private readonly clone: Clone,
  ) {}

  /** @param snapshotId null: of the source */
  static async start(
    machine: TestMachine,
    ca: TestCa,
    snapshotId: string | null = null,
    source = machine.source,
  ): Promise<LivingGuest> {
    const id = sandboxIdFrom(randomBytes(ID_BYTES));
    const request = { sandboxId: id, source, snapshotId, cpus: null, memoryMib: null };
    const clone = await machine.host.cloneDisk(
      { ...request, egress: 'none', userCaKeys: [ca.publicKey] },
      stepContext(),
    );
    const guest = new LivingGuest(machine, ca, id, clone);
    await guest.boot();
    return guest;
  }

  async boot(): Promise<void> {
    await this.machine.host.bootDomain(this.id, stepContext());
    this.address = (await this.machine.host.awaitLease(this.id, stepContext())).address;
  }

  async run(command: string): Promise<string> {
    return (await this.ca.ssh(this.address, this.clone.hostKey, this.id, command)).stdout.trim();
  }

  async save(snapshotId = snapshotIdFrom(randomBytes(ID_BYTES))): Promise<[string, SavedSnapshot]> {
    const { snapshots } = this.machine.host;
    await snapshots.save({ snapshotId, sandboxId: this.id, kind: 'disk' }, stepContext());
    return [snapshotId, await snapshots.verify(snapshotId, stepContext())];
  }

  async off(): Promise<void> {
    await this.machine.host.removeDomain(this.id);
    await this.machine.host.releaseLease(this.id);
  }

  async remove(): Promise<void> {
    await this.off();
    await this.machine.host.removeWorkspace(this.id);
    expect((await this.machine.host.look(this.id)).map((seen) => seen.absent)).toEqual([true, true, true]);
  }
}
