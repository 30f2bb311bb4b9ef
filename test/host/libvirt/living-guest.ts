import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { Virsh } from '../../../host/libvirt/client/virsh.ts';
import type { StepContext } from '../../../host/step-context.ts';
import { ID_BYTES, sandboxIdFrom, snapshotIdFrom } from '../../../model/ids.ts';
import type { SavedSnapshot, SnapshotKind } from '../../../model/snapshots/snapshot.ts';
import type { TestMachine } from './machine.ts';

export const stepContext = (): StepContext => ({ signal: AbortSignal.timeout(240_000), alive: () => {} });

export const newSnapshotId = () => snapshotIdFrom(randomBytes(ID_BYTES));

/**
 * Asserts that the clock of a guest was right, for an answer of any duration.
 * @param seconds since 1970, as `date +%s` prints them
 * @param askedAt milliseconds since 1970
 */
export function expectRightTime(seconds: string | undefined, askedAt: number): void {
  expect(Number(seconds)).toBeGreaterThan(askedAt / 1_000 - 3);
  expect(Number(seconds)).toBeLessThan(Date.now() / 1_000 + 3);
}

/** Largest tolerated error of a clock, ms. */
const CLOCK_MS = 200;

/** Asserts that the clock of a guest equals its host's, by the fastest of five answers of its guest agent. */
export async function expectClock(virsh: Virsh, sandboxId: string): Promise<void> {
  let best = { least: Number.NEGATIVE_INFINITY, most: Number.POSITIVE_INFINITY };
  for (let n = 0; n < 5; n++) {
    const asked = Date.now();
    const said = await virsh.run(['qemu-agent-command', sandboxId, '{"execute":"guest-get-time"}']);
    const guest = (JSON.parse(said) as { return: number }).return / 1e6;
    const ahead = { least: guest - Date.now(), most: guest - asked };
    if (ahead.most - ahead.least < best.most - best.least) best = ahead;
  }
  process.stderr.write(`clock of ${sandboxId}: ${best.least.toFixed(0)} to ${best.most.toFixed(0)} ms ahead\n`);
  expect(best.most).toBeGreaterThan(-CLOCK_MS);
  expect(best.least).toBeLessThan(CLOCK_MS);
}

/** Sandbox of a real machine, reached by plain ssh. */
export class MachineGuest {
  /** Address since its last boot. */
  address = '';

  protected constructor(
    protected readonly machine: TestMachine,
    readonly id: string,
    public hostKey: string,
  ) {}

  async run(command: string): Promise<string> {
    return (await this.machine.ca.ssh(this.address, this.hostKey, this.id, command)).stdout.trim();
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

export class LivingGuest extends MachineGuest {
  /** Makes a sandbox without booting it. @param snapshotId null: of the source */
  static async make(
    machine: TestMachine,
    snapshotId: string | null = null,
    source = machine.source,
  ): Promise<LivingGuest> {
    const id = sandboxIdFrom(randomBytes(ID_BYTES));
    const request = { sandboxId: id, source, snapshotId, cpus: null, memoryMib: null };
    const userCaKeys = [machine.ca.publicKey];
    const clone = await machine.host.cloneDisk({ ...request, egress: 'none', userCaKeys }, stepContext());
    return new LivingGuest(machine, id, clone.hostKey);
  }

  /** Wakes a running sandbox of the source without a boot, for tests of other things. */
  static async wake(machine: TestMachine): Promise<LivingGuest> {
    const id = sandboxIdFrom(randomBytes(ID_BYTES));
    const { hostKey } = await machine.booted.wake(id, [machine.ca.publicKey]);
    const guest = new LivingGuest(machine, id, hostKey);
    await guest.#findAddress();
    return guest;
  }

  /** Makes a sandbox as {@link make} does, and boots it. */
  static async start(...how: Parameters<typeof LivingGuest.make>): Promise<LivingGuest> {
    const guest = await LivingGuest.make(...how);
    await guest.boot();
    return guest;
  }

  async boot(): Promise<void> {
    await this.machine.host.bootDomain(this.id, stepContext());
    await this.#findAddress();
  }

  async #findAddress(): Promise<void> {
    this.address = (await this.machine.host.awaitLease(this.id, stepContext())).address;
  }

  async save(snapshotId = newSnapshotId(), kind: SnapshotKind = 'disk'): Promise<[string, SavedSnapshot]> {
    const { snapshots } = this.machine.host;
    await snapshots.save({ snapshotId, sandboxId: this.id, kind }, stepContext());
    return [snapshotId, await snapshots.verify(snapshotId, stepContext())];
  }
}
