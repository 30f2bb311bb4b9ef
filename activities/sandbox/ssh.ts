import { allEnded } from '../../host/all-ended.ts';
import type { GuestConnections } from '../../host/guest/connections.ts';
import type { Credentials } from '../../host/ssh/credentials.ts';
import { stepContext } from '../step/step-context.ts';
import type { VerifySshInput } from '../step/steps.ts';

export interface SshDeps {
  credentials: Credentials;
  guests: Pick<GuestConnections, 'verify'>;
}

/** Proof that a sandbox is what it should be: its pinned host key answers, and lets its certificate in. */
export function createSshActivities({ credentials, guests }: SshDeps) {
  return {
    /**
     * The connection is kept for the first request; an undo that removes the credentials closes it.
     * @throws MayflyError ssh_timeout, host_key_mismatch
     */
    async verifySsh({ sandboxId, endpoint, certificate }: VerifySshInput): Promise<void> {
      await allEnded(
        credentials.storeCertificate(sandboxId, certificate),
        credentials.storeKnownHost(sandboxId, endpoint),
      );
      const credentialsDir = credentials.directory(sandboxId);
      await guests.verify(sandboxId, { endpoint, credentialsDir, ...stepContext() });
    },
  };
}

export type SshActivities = ReturnType<typeof createSshActivities>;
