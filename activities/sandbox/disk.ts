import type { Clone, Hypervisor } from '../../host/hypervisor.ts';
import type { Credentials } from '../../host/ssh/credentials.ts';
import { MayflyError } from '../../model/errors.ts';
import type { RequestSignature, RequestSigner } from '../../model/sandbox/signed-request.ts';
import { signOwnKey } from '../access/own-key.ts';
import { stepContext } from '../step/step-context.ts';
import type { CloneDiskInput, StepTarget } from '../step/steps.ts';

export interface PreparedClone extends Clone {
  /** The host's own key to it: one OpenSSH public key line. */
  loginKey: string;
  /** Of the host, which asks for that key to be certified. */
  loginSignature?: RequestSignature;
}

/** What a sandbox is made of: linked clone of the golden disk, seed, its host key, and the host's own key to it. */
export function createDiskActivities({
  hypervisor,
  credentials,
  signer,
}: {
  hypervisor: Hypervisor;
  credentials: Credentials;
  signer: RequestSigner;
}) {
  /** @throws MayflyError source_differs */
  async function refuseOther(source: string, content: string): Promise<void> {
    if ((await hypervisor.contentOf(source, stepContext())) === content) return;
    throw new MayflyError(
      'source_differs',
      `The source ${JSON.stringify(source)} does not hold here what it holds on other hosts: one name, and different disks.`,
    );
  }

  return {
    /** @throws MayflyError source_not_found, source_running, source_unsafe, source_changed, source_differs, clone_failed, snapshot_not_found, capture_not_found */
    async cloneDisk({ content, ...request }: CloneDiskInput): Promise<PreparedClone> {
      if (content !== undefined) await refuseOther(request.source, content);
      const { publicKey: loginKey } = await credentials.makeCredentials(request.sandboxId);
      const clone = await hypervisor.cloneDisk(request, stepContext());
      return { ...clone, loginKey, loginSignature: signOwnKey(signer, request.sandboxId, loginKey) };
    },

    async removeWorkspace({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.removeWorkspace(sandboxId);
    },
  };
}

export type DiskActivities = ReturnType<typeof createDiskActivities>;
