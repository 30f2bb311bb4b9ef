import { randomBytes } from 'node:crypto';
import { UserCa } from '../../../ca/user-ca.ts';
import { Credentials } from '../../../host/credentials.ts';
import type { CloneRequest, StepContext } from '../../../host/hypervisor.ts';
import { SimulatedHypervisor } from '../../../host/simulated/driver.ts';
import { verifySsh } from '../../../host/ssh/verify.ts';
import type { StateDir } from '../../../host/state-dir.ts';
import { ID_BYTES, sandboxIdFrom } from '../../../model/ids.ts';
import type { SshEndpoint } from '../../../model/sandbox.ts';
import { agentFolder } from '../../support/agent-folder.ts';
import { temporaryState } from '../temporary-state.ts';

export function newId(): string {
  return sandboxIdFrom(randomBytes(ID_BYTES));
}

export function patience(ms = 30_000): StepContext {
  return { signal: AbortSignal.timeout(ms), alive: () => {} };
}

/** A simulated host of one test file, with credentials and a CA: the steps of a create without Temporal. */
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

  /** Clone, of a snapshot if one is named, boot, address. */
  async boot(sandboxId: string, snapshotId: string | null = null): Promise<SshEndpoint> {
    const clone = await this.hypervisor.cloneDisk({ ...this.request(sandboxId), snapshotId }, patience());
    await this.hypervisor.bootDomain(sandboxId, patience());
    const { address, port } = await this.hypervisor.awaitLease(sandboxId, patience());
    return { address, port, user: clone.user, hostKey: clone.hostKey };
  }

  /** A key pair with its certificate. */
  async certify(sandboxId: string): Promise<void> {
    const { publicKey } = await this.credentials.makeCredentials(sandboxId);
    this.#serial += 1n;
    const actor = { apiKeyId: 'test', agentId: null };
    const signed = await this.ca.sign({ sandboxId, publicKey, actor, source: 'golden-debian12', serial: this.#serial });
    await this.credentials.storeCertificate(sandboxId, signed.certificate);
  }

  /** Logs in with the credentials of a sandbox, its own or another's. */
  verify(endpoint: SshEndpoint, credentialsOf: string, context = patience()): Promise<void> {
    return verifySsh({ endpoint, credentialsDir: this.credentials.directory(credentialsOf), ...context });
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
