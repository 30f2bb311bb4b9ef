import type { UserCa } from '../ca/user-ca.ts';
import type { Store } from '../store/connect.ts';
import type { ControlTemporalClient } from '../temporal/reconciliation.ts';
import { createCertificateActivities } from './access/certificate.ts';
import { createRevocationActivities } from './access/revocation.ts';
import { createAttemptActivities } from './function/attempt/attempt.ts';
import { createBulkActivities, type EventReplayer } from './function/bulk.ts';
import { createDiffActivities } from './function/diff.ts';
import { createKeepActivities } from './function/keep.ts';
import { createDispatchActivities } from './function/queue/dispatch.ts';
import { type AcceptEvent, createScheduleActivities } from './function/schedule.ts';
import { createImageActivities } from './image/image.ts';
import { createPlaybookActivities } from './playbook/playbook.ts';
import { createMemberActivities } from './pool/members.ts';
import { createPoolActivities } from './pool/pool.ts';
import { createPreemptionActivities, Preemption } from './pool/preemption.ts';
import { createSharedClaimActivities } from './pool/shared-claims.ts';
import { createDecommissionActivities } from './reconcile/forgetting.ts';
import { createHostReconcileActivities } from './reconcile/hosts.ts';
import { createImageReconcileActivities } from './reconcile/images.ts';
import { createPlaybookReconcileActivities } from './reconcile/playbooks.ts';
import { createPoolReconcileActivities } from './reconcile/pools.ts';
import { createRunReconcileActivities } from './reconcile/runs.ts';
import { createSandboxReconcileActivities } from './reconcile/sandboxes.ts';
import { createTaskReconcileActivities } from './reconcile/tasks.ts';
import { createCommandAuditActivities } from './sandbox/command-audit.ts';
import { createEventActivities } from './sandbox/event.ts';
import { createPlacementActivities } from './sandbox/placement.ts';
import { createRecordActivities } from './sandbox/record.ts';
import { createSetupActivities } from './setup/setup.ts';
import { createSetupEndActivities } from './setup/setup-end.ts';
import { createSnapshotRecordActivities } from './snapshot/snapshot-record.ts';
import { StorageAdmission } from './snapshot/storage-admission.ts';
import { createBakedSourceActivities } from './source/baked-source.ts';
import { createCaptureRecordActivities } from './source/capture-record.ts';
import { createSourceRecordActivities } from './source/source-record.ts';
import { createTaskCommandActivities } from './source/task-command.ts';
import { createTemplateRecordActivities } from './template/template-record.ts';
import { createSuspensionActivities } from './waitpoint/sleep.ts';
import { createWaitpointActivities } from './waitpoint/waits.ts';
import { WebhookPublisher } from './webhook/announcer.ts';

export interface ControlDeps {
  store: Store;
  ca: UserCa;
  reconciliation: ControlTemporalClient;
  acceptEvent: AcceptEvent;
  /** SHA-256, hex. */
  digestOf: (text: string) => string;
  acceptAgain: EventReplayer;
}

export function createControlActivities(given: ControlDeps) {
  const announcer = new WebhookPublisher(given.store, given.reconciliation);
  const deps = { ...given, announcer, admission: new StorageAdmission(given.store), preemption: new Preemption(given) };
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
    ...createTaskCommandActivities(deps),
    ...createTemplateRecordActivities(deps),
    ...createDispatchActivities(deps),
    ...createAttemptActivities(deps),
    ...createKeepActivities(deps),
    ...createDiffActivities(deps),
    ...createScheduleActivities(deps),
    ...createBulkActivities(deps),
    ...createWaitpointActivities(deps),
    ...createSuspensionActivities(deps),
    ...createSetupActivities(deps),
    ...createSetupEndActivities(deps),
    ...createImageActivities(deps),
    ...createPlaybookActivities(deps),
    ...createSandboxReconcileActivities(deps),
    ...createHostReconcileActivities(deps),
    ...createTaskReconcileActivities(deps),
    ...createDecommissionActivities(deps),
    ...createPoolActivities(deps),
    ...createMemberActivities(deps),
    ...createSharedClaimActivities(deps),
    ...createPreemptionActivities(deps),
    ...createPoolReconcileActivities(deps),
    ...createImageReconcileActivities(deps),
    ...createPlaybookReconcileActivities(deps),
    ...createRunReconcileActivities(deps),
  };
}

export type ControlActivities = ReturnType<typeof createControlActivities>;
