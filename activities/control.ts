import type { UserCa } from '../ca/user-ca.ts';
import type { Store } from '../store/connect.ts';
import { createBakedSourceActivities } from './baked-source.ts';
import { createCaptureRecordActivities } from './capture-record.ts';
import { createCertificateActivities } from './certificate.ts';
import { createCommandAuditActivities } from './command-audit.ts';
import { createEventActivities } from './event.ts';
import { createPlacementActivities } from './placement.ts';
import { createRecordActivities } from './record.ts';
import { createRevocationActivities } from './revocation.ts';
import { createSnapshotRecordActivities } from './snapshot-record.ts';
import { createSourceRecordActivities } from './source-record.ts';
import { StorageAdmission } from './storage-admission.ts';

export interface ControlDeps {
  store: Store;
  ca: UserCa;
}

/** Every activity of the control queue: the store and the user CA. */
export function createControlActivities(given: ControlDeps) {
  const deps = { ...given, admission: new StorageAdmission(given.store) };
  return {
    ...createRecordActivities(deps),
    ...createPlacementActivities(deps),
    ...createCertificateActivities(deps),
    ...createRevocationActivities(deps),
    ...createEventActivities(deps),
    ...createCommandAuditActivities(deps),
    ...createSourceRecordActivities(deps),
    ...createBakedSourceActivities(deps),
    ...createSnapshotRecordActivities(deps),
    ...createCaptureRecordActivities(deps),
  };
}

export type ControlActivities = ReturnType<typeof createControlActivities>;
