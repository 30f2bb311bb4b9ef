import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { AgentConsole } from '../../../host/libvirt/guest/agent-console.ts';
import { ID_BYTES, sandboxIdFrom } from '../../../model/ids.ts';
import type { Boot, RequestedBoot } from '../../../model/sandbox/sandbox.ts';
import { MachineGuest, newSnapshotId, stepContext } from './living-guest.ts';
import type { TestMachine } from './machine.ts';

const PROJECT = 'alpha';

/** Sandbox that may wake from a template, created as by a host. */
export class Created extends MachineGuest {
  constructor(machine: TestMachine) {
    super(machine, sandboxIdFrom(randomBytes(ID_BYTES)), '');
  }

  async make(boot: RequestedBoot = 'auto', project = PROJECT): Promise<this> {
    const { host, source, ca } = this.machine;
    const of = { sandboxId: this.id, source, snapshotId: null, cpus: null, memoryMib: null };
    const request = { ...of, userCaKeys: [ca.publicKey], boot, project };
    this.hostKey = (await host.cloneDisk({ ...request, egress: 'none' }, stepContext())).hostKey;
    return this;
  }

  async boot(): Promise<this> {
    const { host } = this.machine;
    await host.bootDomain(this.id, stepContext());
    this.address = (await host.awaitLease(this.id, stepContext())).address;
    return this;
  }

  boots(): Promise<Boot | null> {
    return this.machine.host.bootOf(this.id);
  }
}

/** Commands run as root in a builder's guest, through its guest agent. */
export interface Meddling {
  /** Command after the boot, before it settles. */
  before?: string;
  /** Command after it has settled. */
  after?: string;
  /** Receives the output of `after`. */
  look?: (said: string) => void;
}

/** Makes a template in the same steps as its workflow. */
export async function makeTemplate(machine: TestMachine, { before, after, look }: Meddling = {}): Promise<string> {
  const { host, virsh, source } = machine;
  const [builderId, id] = [sandboxIdFrom(randomBytes(ID_BYTES)), newSnapshotId()];
  const of = { source, cpus: null, memoryMib: null };
  const nobody = { sandboxId: builderId, snapshotId: null, userCaKeys: [], isOffline: true };
  const root = async (command: string) => {
    const said = await new AgentConsole(virsh, builderId).run(['/bin/sh', '-ec', command]);
    expect(said).toMatchObject({ exitCode: 0 });
    return said.stdout;
  };
  await host.cloneDisk({ ...of, ...nobody, egress: 'none' }, stepContext());
  try {
    await host.bootDomain(builderId, stepContext());
    await host.templates.settle(builderId, stepContext());
    if (before !== undefined) await root(before);
    await host.templates.settle(builderId, stepContext());
    if (after !== undefined) {
      const said = await root(after);
      look?.(said);
    }
    await host.snapshots.save({ snapshotId: id, sandboxId: builderId, kind: 'full' }, stepContext());
    const { savedAt } = await host.snapshots.verify(id, stepContext());
    const key = await host.templates.keyOf({ ...of, project: PROJECT }, stepContext());
    await host.templates.publish({ key: key ?? '', templateId: id, savedAt });
    return id;
  } finally {
    await host.removeDomain(builderId);
    await host.removeWorkspace(builderId);
  }
}

/** Makes a template whose guests cannot be renewed, for lack of perl. */
export function makeBrokenTemplate(machine: TestMachine): Promise<string> {
  const program = '/usr/bin/perl';
  const after = `printf '#!/bin/sh\\necho no >&2\\nexit 1\\n' >${program}.new; chmod 755 ${program}.new; mv ${program}.new ${program}`;
  return makeTemplate(machine, { after });
}

export async function removeTemplate({ host }: TestMachine, id: string): Promise<void> {
  await host.templates.retire(id);
  await host.snapshots.remove(id);
}
