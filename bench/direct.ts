import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createCredentialActivities } from '../activities/credentials.ts';
import { createDiskActivities } from '../activities/disk.ts';
import { createDomainActivities } from '../activities/domain.ts';
import { createLeaseActivities } from '../activities/lease.ts';
import { createProofActivities } from '../activities/proof.ts';
import { createReservationActivities } from '../activities/reservation.ts';
import { createSshActivities } from '../activities/ssh.ts';
import { asStep } from '../activities/step-context.ts';
import { UserCa } from '../ca/user-ca.ts';
import { Failpoints } from '../host/failpoints.ts';
import { ID_BYTES, sandboxIdFrom } from '../model/ids.ts';
import type { Config } from '../worker/config.ts';
import { type HostMachine, openHostMachine } from '../worker/host-machine.ts';
import { Samples, type Spread } from './measure.ts';

const NO_GENERATION = 0;

/**
 * The steps of create and destroy called one after the other, without Temporal, store or audit: what a script around
 * the hypervisor would take. The durable saga is compared with this.
 */
export async function measureDirect(config: Config, source: string, runs: number): Promise<Record<string, Spread>> {
  const machine = await openHostMachine(config, Failpoints.parse(undefined));
  try {
    const caDir = join(config.stateDir, 'bench-ca');
    await mkdir(caDir, { mode: 0o700 });
    const ca = await UserCa.open(caDir);
    const activities = lifeActivities(machine);
    const samples = new Samples();
    for (let run = 0; run < runs; run++) {
      await asStep({ signal: new AbortController().signal, alive: () => {} }, () =>
        oneLife(activities, ca, source, BigInt(run + 1), samples),
      );
    }
    return samples.spreads();
  } finally {
    await machine.end();
    await machine.close();
  }
}

/** The steps of a life; nothing asks anything of the guest, so no connection is kept. */
function lifeActivities(machine: HostMachine) {
  return {
    ...createReservationActivities({ ...machine, room: { checkAwake: async () => {} } }),
    ...createDiskActivities(machine),
    ...createDomainActivities(machine),
    ...createLeaseActivities(machine),
    ...createCredentialActivities({ ...machine, guests: { close: () => {} } }),
    ...createSshActivities({ ...machine, guests: { keep: (_sandboxId, { client }) => client.end() } }),
    ...createProofActivities(machine),
  };
}

async function oneLife(
  host: ReturnType<typeof lifeActivities>,
  ca: UserCa,
  source: string,
  serial: bigint,
  samples: Samples,
): Promise<void> {
  const sandboxId = sandboxIdFrom(randomBytes(ID_BYTES));
  const target = { sandboxId, generation: NO_GENERATION };
  const shape = {
    source,
    snapshotId: null,
    cpus: null,
    memoryMib: null,
    egress: 'none',
    userCaKeys: await ca.publicKeys(),
  } as const;
  const actor = { apiKeyId: 'bench', agentId: null };
  await samples.time('create', async () => {
    await samples.time('reserve', () => host.reserve({ ...target, source, memoryMib: null }));
    const clone = await samples.time('cloneDisk', () => host.cloneDisk({ ...target, ...shape }));
    const request = { sandboxId, source, actor, publicKey: clone.loginKey, serial };
    const { certificate } = await samples.time('signCertificate', () => ca.sign(request));
    await samples.time('bootDomain', () => host.bootDomain(target));
    const lease = await samples.time('awaitIp', () => host.awaitIp(target));
    const endpoint = { address: lease.address, port: lease.port, user: clone.user, hostKey: clone.hostKey };
    await samples.time('verifySsh', () => host.verifySsh({ ...target, endpoint, certificate }));
  });
  await samples.time('destroy', async () => {
    await samples.time('credentials', () => host.removeCredentials(target));
    await samples.time('domain', () => host.removeDomain(target));
    await samples.time('lease', () => host.releaseLease(target));
    await samples.time('workspace', () => host.removeWorkspace(target));
    await samples.time('record', () => host.releaseReservation(target));
    await samples.time('lookAgain', () => host.lookAgain(target));
  });
}
