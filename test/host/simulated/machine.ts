import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { UserCa } from '../../../ca/user-ca.ts';
import type { CloneRequest } from '../../../host/hypervisor.ts';
import { SimulatedHypervisor } from '../../../host/simulated/driver.ts';
import { CertClient, keyWithCertificate } from '../../../host/ssh/cert-client.ts';
import { Credentials } from '../../../host/ssh/credentials.ts';
import { verifySsh } from '../../../host/ssh/verify.ts';
import type { StateDir } from '../../../host/state-dir.ts';
import type { StepContext } from '../../../host/step-context.ts';
import { ID_BYTES, sandboxIdFrom, snapshotIdFrom } from '../../../model/ids.ts';
import type { SshEndpoint } from '../../../model/sandbox/sandbox.ts';
import { agentFolder } from '../../support/agent-folder.ts';
import { temporaryState } from '../temporary-state.ts';

/** Silence after which a guest counts as stopped, ms. */
export const SILENCE_MS = 500;

export function newId(): string {
  return sandboxIdFrom(randomBytes(ID_BYTES));
}

export function newSnapshotId(): string {
  return snapshotIdFrom(randomBytes(ID_BYTES));
}

/** Reports whether the guest's sshd sends its banner in time; a stopped guest doesn't. */
export async function answers({ address, port }: SshEndpoint, withinMs = 60_000): Promise<boolean> {
  const socket = createConnection({ host: address, port });
  try {
    const [greeting] = await once(socket, 'data', { signal: AbortSignal.timeout(withinMs) });
    return String(greeting).startsWith('SSH-2.0');
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return false;
    throw error;
  } finally {
    socket.destroy();
  }
}

export function stepContext(ms = 120_000): StepContext {
  return { signal: AbortSignal.timeout(ms), alive: () => {} };
}

/** Simulated host of one test file, with credentials and a CA: the steps of a create without Temporal. */
export class TestMachine {
  #serial = 0n;

  private constructor(
    readonly state: StateDir,
    readonly hypervisor: SimulatedHypervisor,
    readonly credentials: Credentials,
    readonly ca: UserCa,
    private readonly userCaKeys: string[],
    private readonly removeState: () => Promise<void>,
  ) {}

  static async start(): Promise<TestMachine> {
    const { state, remove } = await temporaryState();
    const hypervisor = new SimulatedHypervisor({ state, agentFolder: agentFolder() });
    await hypervisor.open();
    const credentials = new Credentials(state);
    await credentials.open();
    const ca = await UserCa.open(`${state.root}/ca`);
    return new TestMachine(state, hypervisor, credentials, ca, await ca.publicKeys(), remove);
  }

  request(sandboxId: string): CloneRequest {
    const { userCaKeys } = this;
    const spec = { source: 'golden-debian12', snapshotId: null, cpus: null, memoryMib: null } as const;
    return { sandboxId, ...spec, egress: 'none', userCaKeys };
  }

  /** Clones, boots and awaits the address. @param snapshotId null: of the source */
  async boot(sandboxId: string, snapshotId: string | null = null): Promise<SshEndpoint> {
    const clone = await this.hypervisor.cloneDisk({ ...this.request(sandboxId), snapshotId }, stepContext());
    await this.hypervisor.bootDomain(sandboxId, stepContext());
    const { address, port } = await this.hypervisor.awaitLease(sandboxId, stepContext());
    return { address, port, user: clone.user, hostKey: clone.hostKey };
  }

  /** Makes a key pair with its certificate. */
  async certify(sandboxId: string): Promise<void> {
    const { publicKey } = await this.credentials.makeCredentials(sandboxId);
    this.#serial += 1n;
    const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
    const signed = await this.ca.sign({ sandboxId, publicKey, actor, source: 'golden-debian12', serial: this.#serial });
    await this.credentials.storeCertificate(sandboxId, signed.certificate);
  }

  /** Logs in with the credentials of this or another sandbox. */
  async verify(endpoint: SshEndpoint, credentialsOf: string, context = stepContext()): Promise<void> {
    const client = await verifySsh({ endpoint, credentialsDir: this.credentials.directory(credentialsOf), ...context });
    client.end();
  }

  /** Boots it, makes credentials, and verifies a login. */
  async login(sandboxId: string, snapshotId: string | null = null): Promise<SshEndpoint> {
    const endpoint = await this.boot(sandboxId, snapshotId);
    await this.certify(sandboxId);
    await this.verify(endpoint, sandboxId);
    return endpoint;
  }

  /** Boots it again, and verifies a login. */
  async reboot(sandboxId: string, endpoint: SshEndpoint): Promise<void> {
    await this.hypervisor.bootDomain(sandboxId, stepContext());
    await this.hypervisor.awaitLease(sandboxId, stepContext());
    await this.verify(endpoint, sandboxId);
  }

  async save(sandboxId: string, snapshotId = newSnapshotId()): Promise<string> {
    await this.hypervisor.snapshots.save({ snapshotId, sandboxId, kind: 'disk' }, stepContext());
    return snapshotId;
  }

  /** Runs a command in the guest with the sandbox's own credentials. @returns its output */
  async run(endpoint: SshEndpoint, sandboxId: string, command: string): Promise<string> {
    const directory = this.credentials.directory(sandboxId);
    const key = keyWithCertificate(
      await readFile(join(directory, 'id_ed25519')),
      await readFile(join(directory, 'id_ed25519-cert.pub'), 'utf8'),
    );
    const method = { type: 'publickey' as const, username: endpoint.user, key };
    const client = new CertClient().connect({
      host: endpoint.address,
      port: endpoint.port,
      username: endpoint.user,
      authHandler: [method],
    });
    await once(client, 'ready');
    try {
      return await new Promise<string>((resolve, reject) => {
        client.on('error', reject); // also of a disconnect that the guest does not receive
        client.exec(command, (error, channel) => {
          if (error) return reject(error);
          let printed = '';
          channel.on('data', (chunk: Buffer) => {
            printed += chunk.toString();
          });
          channel.stderr.on('data', (chunk: Buffer) => {
            printed += chunk.toString();
          });
          channel.on('close', () => resolve(printed.trim()));
        });
      });
    } finally {
      client.end();
    }
  }

  async destroy(sandboxId: string): Promise<void> {
    await this.credentials.removeCredentials(sandboxId);
    await this.hypervisor.removeDomain(sandboxId);
    await this.hypervisor.releaseLease(sandboxId);
    await this.hypervisor.removeWorkspace(sandboxId);
  }

  async stop(): Promise<void> {
    const saved = await this.hypervisor.snapshots.list();
    await Promise.all(saved.map(({ snapshotId }) => this.hypervisor.snapshots.remove(snapshotId)));
    const marks = [...(await this.hypervisor.marks()), ...(await this.credentials.marks())];
    await Promise.all([...new Set(marks.map((mark) => mark.sandboxId))].map((id) => this.destroy(id)));
    await this.hypervisor.close();
    await this.removeState();
  }
}
