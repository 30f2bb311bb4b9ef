import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UserCa } from '../../../../ca/user-ca.ts';
import { exec } from '../../../../host/os/exec.ts';
import { Credentials, KEY_FILE } from '../../../../host/ssh/credentials.ts';
import { verifySsh } from '../../../../host/ssh/verify.ts';
import type { StepContext } from '../../../../host/step-context.ts';
import type { SshEndpoint } from '../../../../model/sandbox/sandbox.ts';
import { startMachine, type TestMachine } from '../../../host/libvirt/machine.ts';
import { newId } from '../../../host/simulated/machine.ts';
import { BAKED_MACHINE_ID, CLOUD_IMAGE_MS, defineCloudSource, ensureCloudImage } from '../../../support/cloud-image.ts';
import { HANGS_AFTER_MS } from '../../../support/test-timeouts.ts';

let machine: TestMachine;
let source: string;
let ca: UserCa;
let credentials: Credentials;

beforeAll(async () => {
  const image = await ensureCloudImage();
  machine = await startMachine();
  source = await defineCloudSource(machine.virsh, machine.state, image);
  ca = await UserCa.open(join(machine.state.root, 'ca'));
  credentials = new Credentials(machine.state);
  await credentials.open();
}, CLOUD_IMAGE_MS);

afterAll(async () => {
  await machine?.end();
});

const stepContext = (): StepContext => ({ signal: AbortSignal.timeout(HANGS_AFTER_MS), alive: () => {} });

/** Performs the steps of a create up to the address. A stock image boots for minutes beside other emulated machines. */
async function boot(id: string): Promise<SshEndpoint> {
  const { host } = machine;
  const request = { sandboxId: id, source, snapshotId: null, cpus: null, memoryMib: null, egress: 'none' as const };
  const clone = await host.cloneDisk({ ...request, userCaKeys: await ca.publicKeys() }, stepContext());
  await host.bootDomain(id, stepContext());
  const { address, port } = await host.awaitLease(id, stepContext());
  return { address, port, user: clone.user, hostKey: clone.hostKey };
}

async function logIn(id: string, endpoint: SshEndpoint): Promise<void> {
  const { publicKey } = await credentials.makeCredentials(id);
  const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
  const { certificate } = await ca.sign({ sandboxId: id, publicKey, actor, source, serial: 1n });
  await credentials.storeCertificate(id, certificate);
  const credentialsDir = credentials.directory(id);
  (await verifySsh({ endpoint, credentialsDir, ...stepContext() })).end();
}

async function remove(id: string): Promise<void> {
  const { host } = machine;
  await host.removeDomain(id);
  await host.releaseLease(id);
  await host.removeWorkspace(id);
  expect((await host.look(id)).map((seen) => seen.absent)).toEqual([true, true, true]);
}

/** Runs a command with the system's ssh, the host key pinned. */
async function ssh(id: string, { address, hostKey, user }: SshEndpoint, command: string): Promise<string> {
  const folder = credentials.directory(id);
  const known = join(folder, 'known');
  await writeFile(known, `${address} ${hostKey}\n`);
  const options = ['BatchMode=yes', 'StrictHostKeyChecking=yes', 'IdentitiesOnly=yes', `UserKnownHostsFile=${known}`];
  const flags = options.flatMap((option) => ['-o', option]);
  const login = ['-i', join(folder, KEY_FILE), `${user}@${address}`];
  return (await exec('ssh', ['-F', '/dev/null', ...flags, ...login, command], { timeoutMs: HANGS_AFTER_MS })).stdout;
}

/** Prints one line each. The wait ends with cloud-init's last stage, which must not have changed the sshd in use. */
const LOOK = `cat /etc/machine-id
hostname
id -un
sudo -n id -un
cloud-init status --wait | tr -d '.\\n'; echo
cloud-id
sudo journalctl -b -u ssh -o cat | grep -c '^Started'`;

test('clones of a stock cloud image get their identity from cloud-init, and leave no residue', async () => {
  const [id, other] = [newId(), newId()];
  const [endpoint, { address }] = await Promise.all([boot(id), boot(other)]);
  expect(address).not.toBe(endpoint.address); // though one machine-id gives both the same DHCP client id
  await remove(other);

  await logIn(id, endpoint);
  const [machineId, ...rest] = (await ssh(id, endpoint, LOOK)).trim().split('\n');
  expect(rest).toEqual([id, 'sandbox', 'root', 'status: done', 'nocloud', '1']);
  expect(machineId).toMatch(/^[0-9a-f]{32}$/);
  expect(machineId).not.toBe(BAKED_MACHINE_ID);
  await remove(id);
  expect(await machine.host.marks()).toEqual([]);
}, 600_000);
