import type { Credentials } from '../host/credentials.ts';
import { type VerifyRequest, verifySsh } from '../host/ssh/verify.ts';
import { stepContext } from './step-context.ts';
import type { VerifySshInput } from './steps.ts';

export interface SshDeps {
  credentials: Credentials;
  /** How the login is tried. `@default` over the network, {@link verifySsh} */
  verify?: (request: VerifyRequest) => Promise<void>;
}

/** Proof that a sandbox is what it should be: its pinned host key answers, and lets its certificate in. */
export function createSshActivities({ credentials, verify = verifySsh }: SshDeps) {
  return {
    /** @throws MayflyError ssh_timeout, host_key_mismatch */
    async verifySsh({ sandboxId, endpoint, certificate }: VerifySshInput): Promise<void> {
      await credentials.storeCertificate(sandboxId, certificate);
      await credentials.storeKnownHost(sandboxId, endpoint);
      await verify({ endpoint, credentialsDir: credentials.directory(sandboxId), ...stepContext() });
    },
  };
}

export type SshActivities = ReturnType<typeof createSshActivities>;
