import { BULK_WORKFLOW, bulkWorkflowId } from '../../model/functions/bulk.ts';
import { CANCEL_RUN, DISPATCHER_WORKFLOW, WAKE_DISPATCHER } from '../../model/functions/run-saga.ts';
import { SETUP_WORKFLOW } from '../../model/functions/setup/setup-saga.ts';
import { CANCEL_IMAGE, IMAGE_WORKFLOW, imageWorkflowId } from '../../model/image/image-saga.ts';
import { CANCEL_PLAYBOOK, PLAYBOOK_WORKFLOW, playbookWorkflowIdOf } from '../../model/playbook/playbook-saga.ts';
import { DELETE_POOL, POOL_PREEMPTED, POOL_USED, POOL_WORKFLOW, SET_POOL } from '../../model/pools/pool-saga.ts';
import { DECOMMISSION_HOST_WORKFLOW, decommissionHostWorkflowId } from '../../model/sagas/forget-host.ts';
import {
  ACCEPTED,
  AWAIT_OPERATION,
  CLAIM,
  CREATE_FINISHED,
  DESTROY,
  OPERATE,
  RECORD_EVENT,
  RECORD_EVENTS_WORKFLOW,
  RESTORE_RECORD,
  RETIRE,
  recordEventsWorkflowId,
  SANDBOX_WORKFLOW,
  UPDATE_SPEC,
} from '../../model/sagas/messages.ts';
import { sandboxWorkflowId } from '../../model/sagas/queues.ts';
import {
  CERTIFICATE_WORKFLOW,
  TRUST_CHANGED,
  TRUST_WORKFLOW,
  trustWorkflowIdOf,
} from '../../model/sandbox/certificate-saga.ts';
import { CANCEL_COMMAND, COMMAND_WORKFLOW, commandWorkflowIdOf } from '../../model/sandbox/command-saga.ts';
import { BAKE_SOURCE_WORKFLOW, bakeWorkflowId, DELETE_SOURCE_WORKFLOW } from '../../model/snapshots/bake-saga.ts';
import { CAPTURE_WORKFLOW, captureWorkflowId } from '../../model/snapshots/capture-saga.ts';
import {
  DELETE_SNAPSHOT_WORKFLOW,
  EPHEMERAL_SNAPSHOT_WORKFLOW,
  ephemeralSnapshotWorkflowIdOf,
  RELEASED,
  snapshotWorkflowId,
} from '../../model/snapshots/snapshot-saga.ts';
import { SOURCE_WORKFLOW, sourceWorkflowId } from '../../model/snapshots/source-access.ts';
import { FORCE_STOP, SOURCE_POWER_WORKFLOW, sourcePowerWorkflowId } from '../../model/snapshots/source-power.ts';
import {
  MAKE_TEMPLATE_WORKFLOW,
  REMOVE_TEMPLATE,
  TEMPLATE_WORKFLOW,
  templateRequestWorkflowId,
} from '../../model/templates/template-saga.ts';
import { checkOutcomeRead, READ_ONLY_RULES, type Rules } from './rules.ts';
import { findStartProblem } from './starts.ts';

/** Empty source; ids of source workflows begin with the prefix before its fields. */
const NO_SOURCE = { hostId: '', name: '', source: '' };

/** Workflow types that the API may start, with the prefix of their ids. */
const STARTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    [SANDBOX_WORKFLOW]: sandboxWorkflowId(''),
    [COMMAND_WORKFLOW]: commandWorkflowIdOf(''),
    [CERTIFICATE_WORKFLOW]: 'certificate/',
    [TRUST_WORKFLOW]: trustWorkflowIdOf(''),
    [RECORD_EVENTS_WORKFLOW]: recordEventsWorkflowId(''),
    [DELETE_SNAPSHOT_WORKFLOW]: snapshotWorkflowId(''),
    [EPHEMERAL_SNAPSHOT_WORKFLOW]: ephemeralSnapshotWorkflowIdOf(''),
    [BAKE_SOURCE_WORKFLOW]: withoutSource(bakeWorkflowId('', '')),
    [DELETE_SOURCE_WORKFLOW]: withoutSource(bakeWorkflowId('', '')),
    [CAPTURE_WORKFLOW]: withoutSource(captureWorkflowId(NO_SOURCE)),
    [SOURCE_WORKFLOW]: withoutSource(sourceWorkflowId('', '')),
    [SOURCE_POWER_WORKFLOW]: withoutSource(sourcePowerWorkflowId(NO_SOURCE)),
    [TEMPLATE_WORKFLOW]: 'template/',
    [MAKE_TEMPLATE_WORKFLOW]: templateRequestWorkflowId(''),
    [PLAYBOOK_WORKFLOW]: playbookWorkflowIdOf(''),
    [IMAGE_WORKFLOW]: imageWorkflowId({ name: '' }),
    [DISPATCHER_WORKFLOW]: 'function/',
    [BULK_WORKFLOW]: bulkWorkflowId(''),
    [SETUP_WORKFLOW]: 'setup/',
    [POOL_WORKFLOW]: 'pool/',
    [DECOMMISSION_HOST_WORKFLOW]: decommissionHostWorkflowId(''),
  }),
);
const SIGNALS = new Set([
  DESTROY,
  RECORD_EVENT,
  TRUST_CHANGED,
  CANCEL_COMMAND,
  FORCE_STOP,
  RELEASED,
  REMOVE_TEMPLATE,
  CANCEL_IMAGE,
  CANCEL_PLAYBOOK,
  CANCEL_RUN,
  WAKE_DISPATCHER,
  DELETE_POOL,
  POOL_USED,
  POOL_PREEMPTED,
]);
const UPDATES = new Set([
  ACCEPTED,
  CREATE_FINISHED,
  UPDATE_SPEC,
  OPERATE,
  AWAIT_OPERATION,
  RESTORE_RECORD,
  CLAIM,
  RETIRE,
  SET_POOL,
]);

function withoutSource(workflowId: string): string {
  return workflowId.slice(0, workflowId.indexOf('/') + 1);
}

const checkSignal = (name: string | null | undefined) =>
  SIGNALS.has(name ?? '') ? null : `the signal ${name} is not for it to send`;
const checkUpdate = (name: string | null | undefined) =>
  UPDATES.has(name ?? '') ? null : `the update ${name} is not for it to ask for`;

/**
 * Rules of the API: it starts workflows and sends them its callers' signals and updates. It runs no workflow, and ends
 * none but by its own signals.
 */
export const API_RULES: Rules = {
  ...READ_ONLY_RULES,
  StartWorkflowExecution: (request) => findStartProblem(request, STARTS),
  SignalWithStartWorkflowExecution: (request) => findStartProblem(request, STARTS) ?? checkSignal(request.signalName),
  SignalWorkflowExecution: ({ signalName }) => checkSignal(signalName),
  UpdateWorkflowExecution: ({ request }) => checkUpdate(request?.input?.name),
  PollWorkflowExecutionUpdate: () => null,
  GetWorkflowExecutionHistory: (request) => checkOutcomeRead(request, () => null),
  ExecuteMultiOperation: ({ namespace, operations = [] }) => {
    for (const { startWorkflow, updateWorkflow } of operations) {
      const why =
        (startWorkflow && findStartProblem(startWorkflow, STARTS)) ??
        (updateWorkflow && checkUpdate(updateWorkflow.request?.input?.name));
      if (why) return why;
      if ((startWorkflow ?? updateWorkflow)?.namespace !== namespace) return 'the namespace is another';
    }
    return null;
  },
};
