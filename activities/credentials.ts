import type { Credentials } from '../host/credentials.ts';
import type { StepTarget } from './steps.ts';

/** The host's own key pair for one sandbox; the private half never leaves the host. */
export function createCredentialActivities({ credentials }: { credentials: Credentials }) {
  return {
    async removeCredentials({ sandboxId }: StepTarget): Promise<void> {
      await credentials.removeCredentials(sandboxId);
    },
  };
}

export type CredentialActivities = ReturnType<typeof createCredentialActivities>;
