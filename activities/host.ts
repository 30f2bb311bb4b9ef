import type { Credentials } from '../host/credentials.ts';
import type { GuestConnections } from '../host/guest/connections.ts';
import type { Hypervisor } from '../host/hypervisor.ts';
import type { Ledger } from '../host/ledger.ts';
import type { Attendances } from './attendances.ts';
import { createBakingActivities } from './baking.ts';
import { createCaptureActivities } from './capture.ts';
import { createCommandActivities } from './command.ts';
import { createCreateActivities } from './create.ts';
import { createCredentialActivities } from './credentials.ts';
import { createDiskActivities } from './disk.ts';
import { createDomainActivities } from './domain.ts';
import { createLeaseActivities } from './lease.ts';
import { createProofActivities } from './proof.ts';
import { createReservationActivities } from './reservation.ts';
import { createSnapshotActivities } from './snapshot.ts';
import { createSourceActivities, type SourceDeps } from './source.ts';
import { createSshActivities, type SshDeps } from './ssh.ts';
import type { StorageRoom } from './storage-room.ts';
import { createTrustActivities, type TrustDeps } from './trust.ts';

export interface HostDeps extends SourceDeps, TrustDeps, SshDeps {
  hypervisor: Hypervisor;
  credentials: Credentials;
  ledger: Ledger;
  room: StorageRoom;
  guests: Pick<GuestConnections, 'close' | 'verify'> & TrustDeps['guests'];
  attendances: Attendances;
}

/** Every activity of one host's queue. */
export function createHostActivities(deps: HostDeps) {
  const steps = {
    ...createReservationActivities(deps),
    ...createDiskActivities(deps),
    ...createDomainActivities(deps),
    ...createLeaseActivities(deps),
    ...createSshActivities(deps),
  };
  return {
    ...steps,
    ...createCreateActivities(steps),
    ...createCredentialActivities(deps),
    ...createProofActivities(deps),
    ...createSnapshotActivities(deps),
    ...createSourceActivities(deps),
    ...createBakingActivities(deps),
    ...createCaptureActivities(deps),
    ...createCommandActivities(deps),
    ...createTrustActivities(deps),
  };
}

export type HostActivities = ReturnType<typeof createHostActivities>;
