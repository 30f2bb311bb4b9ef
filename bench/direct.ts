import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { createMachineActivities } from '../activities/sandbox/machine.ts';
import { createReservationActivities } from '../activities/sandbox/reservation.ts';
import { createSshActivities } from '../activities/sandbox/ssh.ts';
import { withStepContext } from '../activities/step/step-context.ts';
import { UserCa } from '../ca/user-ca.ts';
import { Failpoints } from '../host/failpoints.ts';
import { verifySsh } from '../host/ssh/verify.ts';
import { ID_BYTES, sandboxIdFrom } from '../model/ids.ts';
import { type HostMachine, openHostMachine } from '../worker/machine/host-machine.ts';
import { BURST, burstLine } from './creates.ts';
import { type Extent, SMALL_MIB } from './support/bench.ts';
import { type Figures, round, Samples } from './support/measure.ts';
import { ownSeconds } from './support/processes.ts';

/** Context of the steps, which read only their workflow from it. */
const NO_WORKFLOW_CONTEXT = { info: {} } as Context;

/**
 * Measures the steps of create and destroy called in sequence, without Temporal, store or audit: the time of a script
 * around the hypervisor.
 */
export async function measureDirect(extent: Extent): Promise<Figures> {
  const { config, source, isSimulated, isQuick } = extent;
  const machine = await openHostMachine(config, Failpoints.parse(undefined));
  try {
    const caDir = join(config.stateDir, 'bench-ca');
    await mkdir(caDir, { mode: 0o700 });
    const ca = await UserCa.open(caDir);
    const host = lifeActivities(machine);
    const samples = new Samples();
    let serial = 0n;
    const life = (into: Samples) => new DirectLifecycle(host, ca, source, ++serial, into);
    let seconds = 0;
    await samples.rounds(extent, async (counted) => {
      const one = life(counted);
      const before = await ownSeconds();
      await one.create(null);
      if (counted === samples) seconds += (await ownSeconds()) - before;
      await one.destroy();
    });
    const lines = [`${round(seconds / extent.runs)} s of processor time a create`];
    if (isSimulated) {
      const lives = Array.from({ length: isQuick ? BURST.quick : BURST.full }, () => life(new Samples()));
      const create = () => Promise.all(lives.map((one) => one.create(SMALL_MIB)));
      lines.push(await burstLine(lives.length, create, () => Promise.all(lives.map((one) => one.destroy()))));
    }
    return { spreads: samples.spreads(), lines };
  } finally {
    machine.endOnClose();
    await machine.close();
  }
}

/** Makes the steps of a life; none uses the guest, so no connection is kept. */
function lifeActivities(machine: HostMachine) {
  return {
    ...createReservationActivities({ ...machine, room: { checkAwake: async () => {} } }),
    ...createMachineActivities({ ...machine, guests: { close: () => {} } }),
    ...createSshActivities({
      ...machine,
      guests: { verify: async (_sandboxId, request) => void (await verifySsh(request)).destroy() },
    }),
  };
}

/** Sandbox whose steps are called directly. */
class DirectLifecycle {
  readonly #target = { sandboxId: sandboxIdFrom(randomBytes(ID_BYTES)), generation: 0 };

  constructor(
    private readonly host: ReturnType<typeof lifeActivities>,
    private readonly ca: UserCa,
    private readonly source: string,
    private readonly serial: bigint,
    private readonly samples: Samples,
  ) {}

  async create(memoryMib: number | null): Promise<void> {
    const create = () => this.samples.time('create', () => this.#create(memoryMib));
    await asyncLocalStorage.run(NO_WORKFLOW_CONTEXT, () =>
      withStepContext({ signal: new AbortController().signal, alive: () => {} }, create),
    );
  }

  async #create(memoryMib: number | null): Promise<void> {
    const { host, ca, source, serial, samples } = this;
    const target = this.#target;
    const userCaKeys = await ca.publicKeys();
    const shape = { source, snapshotId: null, cpus: null, memoryMib, egress: 'none', userCaKeys } as const;
    await samples.time('reserve', () => host.reserve({ ...target, source, memoryMib }));
    const clone = await samples.time('cloneDisk', () => host.cloneDisk({ ...target, ...shape }));
    const actor = { apiKeyId: 'bench', agentId: null, project: 'default' };
    const request = { sandboxId: target.sandboxId, source, actor, publicKey: clone.loginKey, serial };
    const { certificate } = await samples.time('signCertificate', () => ca.sign(request));
    await samples.time('bootDomain', () => host.bootDomain(target));
    const lease = await samples.time('awaitIp', () => host.awaitIp(target));
    const endpoint = { address: lease.address, port: lease.port, user: clone.user, hostKey: clone.hostKey };
    await samples.time('verifySsh', () => host.verifySsh({ ...target, endpoint, certificate }));
  }

  async destroy(): Promise<void> {
    const { host, samples } = this;
    const target = this.#target;
    await samples.time('destroy', async () => {
      await samples.time('credentials', () => host.removeCredentials(target));
      await samples.time('domain', () => host.removeDomain(target));
      await samples.time('lease', () => host.releaseLease(target));
      await samples.time('workspace', () => host.removeWorkspace(target));
      await samples.time('record', () => host.releaseReservation(target));
      await samples.time('lookAgain', () => host.lookAgain(target));
    });
  }
}
