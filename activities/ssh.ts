import type { Credentials } from '../host/credentials.ts';
import { verifySsh } from '../host/ssh/verify.ts';
import { stepContext } from './step-context.ts';
import type { VerifySshInput } from './steps.ts';

/** Proof that a sandbox is what it should be: its pinned host key answers, and lets its certificate in. */
export function createSshActivities({ credentials }: { credentials: Credentials }) {
  return {
    /** @throws MayflyError ssh_timeout, host_key_mismatch */
    async verifySsh({ sandboxId, endpoint, certificate }: VerifySshInput): Promise<void> {
      await Promise.all([
        credentials.storeCertificate(sandboxId, certificate),
        credentials.storeKnownHost(sandboxId, endpoint),
      ]);
      await verifySsh({ endpoint, credentialsDir: credentials.directory(sandboxId), ...stepContext() });
    },
  };
}

export type SshActivities = ReturnType<typeof createSshActivities>;
