import type { GuestConnections } from '../../host/guest/connections.ts';
import type { Clone, DomainLocation, Hypervisor, Lease } from '../../host/hypervisor.ts';
import type { Ledger } from '../../host/ledger.ts';
import type { Credentials } from '../../host/ssh/credentials.ts';
import { MayflyError } from '../../model/errors.ts';
import type { Observer } from '../../model/host.ts';
import type { MachineState } from '../../model/sandbox/machine-end.ts';
import type { RequestSignature, RequestSigner } from '../../model/sandbox/signed-request.ts';
import { signOwnKey } from '../access/own-key.ts';
import { stepContext } from '../step/step-context.ts';
import type { CloneDiskInput, InspectionResult, StepTarget } from '../step/steps.ts';

export interface PreparedClone extends Clone {
  /** Public key of the host's own key pair for it: one OpenSSH line. */
  loginKey: string;
  /** Signature of the host's request to certify that key. */
  loginSignature?: RequestSignature;
}

export interface MachineDeps {
  hypervisor: Hypervisor;
  credentials: Credentials;
  ledger: Ledger;
  guests: Pick<GuestConnections, 'close'>;
  signer: RequestSigner;
  /** Identity of the host in observations. */
  observer: Observer;
}

/** Activities for a sandbox on its host: disks, domain, lease, the host's key pair, and residue. */
export function createMachineActivities({ hypervisor, credentials, ledger, guests, signer, observer }: MachineDeps) {
  /** @throws MayflyError source_differs */
  async function assertSameContent(source: string, content: string): Promise<void> {
    if ((await hypervisor.contentOf(source, stepContext())) === content) return;
    throw new MayflyError(
      'source_differs',
      `The source ${JSON.stringify(source)} does not hold here what it holds on other hosts: one name, and different disks.`,
    );
  }

  return {
    /** @throws MayflyError source_not_found, source_running, source_unsafe, source_changed, source_differs, clone_failed, snapshot_not_found, capture_not_found */
    async cloneDisk({ content, ...request }: CloneDiskInput): Promise<PreparedClone> {
      if (content !== undefined) await assertSameContent(request.source, content);
      const { publicKey: loginKey } = await credentials.makeCredentials(request.sandboxId);
      const clone = await hypervisor.cloneDisk(request, stepContext());
      return { ...clone, loginKey, loginSignature: signOwnKey(signer, request.sandboxId, loginKey) };
    },
    async removeWorkspace({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.removeWorkspace(sandboxId);
    },

    /** @throws MayflyError boot_failed, address_conflict, host_disk_full */
    async bootDomain({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.bootDomain(sandboxId, stepContext());
    },
    async removeDomain({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.removeDomain(sandboxId);
    },

    /** @throws MayflyError ip_timeout, boot_failed */
    async awaitIp({ sandboxId }: StepTarget): Promise<Lease> {
      return hypervisor.awaitLease(sandboxId, stepContext());
    },
    async releaseLease({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.releaseLease(sandboxId);
    },

    async removeCredentials({ sandboxId }: StepTarget): Promise<void> {
      guests.close(sandboxId);
      await credentials.removeCredentials(sandboxId);
    },

    /** Inspects every layer of the host for anything that carries the sandbox's name. Changes nothing. */
    async lookAgain({ sandboxId }: StepTarget): Promise<InspectionResult> {
      const inspections = await Promise.all([
        credentials.look(sandboxId),
        hypervisor.look(sandboxId),
        ledger.look(sandboxId),
      ]);
      return { observations: inspections.flat().map((look) => ({ ...look, by: observer })) };
    },

    /**
     * Returns the state of its machine. Not a step: it changes nothing, and can run at any time.
     * @throws MayflyError host_unavailable
     */
    async lookAtMachine({ sandboxId }: Pick<StepTarget, 'sandboxId'>): Promise<{ state: MachineState }> {
      return { state: (await hypervisor.machines([sandboxId])).get(sandboxId) ?? 'lost' };
    },

    /** @throws MayflyError sandbox_not_running when it is off or absent */
    async findMachine({ sandboxId }: { sandboxId: string }): Promise<Pick<DomainLocation, 'domain'>> {
      const { domain } = await hypervisor.whereabouts(sandboxId);
      if (domain !== 'off' && domain !== 'absent') return { domain };
      throw new MayflyError(
        'sandbox_not_running',
        `Its machine is ${domain === 'off' ? 'off' : 'not there any more'}.`,
      );
    },

    /** Returns the ids of all sandboxes with residue on this host that carries our mark. */
    async markedSandboxes(): Promise<{ sandboxIds: string[] }> {
      const marks = (await Promise.all([hypervisor.marks(), credentials.marks(), ledger.marks()])).flat();
      return { sandboxIds: [...new Set(marks.map(({ sandboxId }) => sandboxId))].sort() };
    },
  };
}

export type MachineActivities = ReturnType<typeof createMachineActivities>;
