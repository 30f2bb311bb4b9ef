import type { GuestConnections } from '../../host/guest/connections.ts';
import type { Credentials } from '../../host/ssh/credentials.ts';
import type { StepTarget } from '../step/steps.ts';

/** The host's own key pair for one sandbox; the private half never leaves the host. */
export function createCredentialActivities({
  credentials,
  guests,
}: {
  credentials: Credentials;
  guests: Pick<GuestConnections, 'close'>;
}) {
  return {
    async removeCredentials({ sandboxId }: StepTarget): Promise<void> {
      guests.close(sandboxId);
      await credentials.removeCredentials(sandboxId);
    },
  };
}
