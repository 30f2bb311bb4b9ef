import type { Credentials } from '../host/credentials.ts';
import type { Hypervisor } from '../host/hypervisor.ts';
import type { Ledger } from '../host/ledger.ts';
import { createCredentialActivities } from './credentials.ts';
import { createDiskActivities } from './disk.ts';
import { createDomainActivities } from './domain.ts';
import { createLeaseActivities } from './lease.ts';
import { createProofActivities } from './proof.ts';
import { createReservationActivities } from './reservation.ts';
import { createSshActivities } from './ssh.ts';

export interface HostDeps {
  hypervisor: Hypervisor;
  credentials: Credentials;
  ledger: Ledger;
}

/** Every activity of one host's queue. */
export function createHostActivities(deps: HostDeps) {
  return {
    ...createReservationActivities(deps),
    ...createDiskActivities(deps),
    ...createDomainActivities(deps),
    ...createLeaseActivities(deps),
    ...createCredentialActivities(deps),
    ...createSshActivities(deps),
    ...createProofActivities(deps),
  };
}

export type HostActivities = ReturnType<typeof createHostActivities>;
