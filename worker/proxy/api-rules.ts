import { BULK_WORKFLOW, bulkWorkflowIdOf } from '../../model/functions/bulk.ts';
import { CANCEL_RUN, DISPATCHER_WORKFLOW, LOOK } from '../../model/functions/run-saga.ts';
import { SETUP_WORKFLOW } from '../../model/functions/setup/setup-saga.ts';
import { CANCEL_IMAGE, IMAGE_WORKFLOW, imageWorkflowIdOf } from '../../model/image/image-saga.ts';
import { CANCEL_PLAYBOOK, PLAYBOOK_WORKFLOW, playbookWorkflowIdOf } from '../../model/playbook/playbook-saga.ts';
import { DELETE_POOL, POOL_PREEMPTED, POOL_USED, POOL_WORKFLOW, SET_POOL } from '../../model/pools/pool-saga.ts';
import { FORGET_HOST_WORKFLOW, forgetHostWorkflowIdOf } from '../../model/sagas/forget-host.ts';
import {
  ACCEPTED,
  CLAIM,
  DESTROY,
  EVENT_HAPPENED,
  OPERATE,
  OPERATED,
  PATCH,
  RECORD_EVENTS_WORKFLOW,
  RESTORE_RECORD,
  RETIRE,
  recordEventsWorkflowIdOf,
  SANDBOX_WORKFLOW,
  SETTLED,
} from '../../model/sagas/messages.ts';
import { workflowIdOf } from '../../model/sagas/queues.ts';
import {
  CERTIFICATE_WORKFLOW,
  TRUST_CHANGED,
  TRUST_WORKFLOW,
  trustWorkflowIdOf,
} from '../../model/sandbox/certificate-saga.ts';
import { CANCEL_COMMAND, COMMAND_WORKFLOW, commandWorkflowIdOf } from '../../model/sandbox/command-saga.ts';
import { BAKE_SOURCE_WORKFLOW, bakeWorkflowIdOf, DELETE_SOURCE_WORKFLOW } from '../../model/snapshots/bake-saga.ts';
import { CAPTURE_WORKFLOW, captureWorkflowIdOf } from '../../model/snapshots/capture-saga.ts';
import {
  DELETE_SNAPSHOT_WORKFLOW,
  EPHEMERAL_SNAPSHOT_WORKFLOW,
  ephemeralSnapshotWorkflowIdOf,
  RELEASED,
  snapshotWorkflowIdOf,
} from '../../model/snapshots/snapshot-saga.ts';
import { SOURCE_WORKFLOW, sourceWorkflowIdOf } from '../../model/snapshots/source-access.ts';
import { FORCE_STOP, SOURCE_POWER_WORKFLOW, sourcePowerWorkflowIdOf } from '../../model/snapshots/source-power.ts';
import {
  MAKE_TEMPLATE_WORKFLOW,
  REMOVE_TEMPLATE,
  TEMPLATE_WORKFLOW,
  templateRequestWorkflowIdOf,
} from '../../model/templates/template-saga.ts';
import { endOf, LOOKING, type Rules } from './rules.ts';
import { whyNotStarted } from './starts.ts';

/** Empty source; ids of source workflows begin with the prefix before its fields. */
const NO_SOURCE = { hostId: '', name: '', source: '' };

/** Workflow types that the API may start, with the prefix of their ids. */
const STARTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    [SANDBOX_WORKFLOW]: workflowIdOf(''),
    [COMMAND_WORKFLOW]: commandWorkflowIdOf(''),
    [CERTIFICATE_WORKFLOW]: 'certificate/',
    [TRUST_WORKFLOW]: trustWorkflowIdOf(''),
    [RECORD_EVENTS_WORKFLOW]: recordEventsWorkflowIdOf(''),
    [DELETE_SNAPSHOT_WORKFLOW]: snapshotWorkflowIdOf(''),
    [EPHEMERAL_SNAPSHOT_WORKFLOW]: ephemeralSnapshotWorkflowIdOf(''),
    [BAKE_SOURCE_WORKFLOW]: withoutSource(bakeWorkflowIdOf('', '')),
    [DELETE_SOURCE_WORKFLOW]: withoutSource(bakeWorkflowIdOf('', '')),
    [CAPTURE_WORKFLOW]: withoutSource(captureWorkflowIdOf(NO_SOURCE)),
    [SOURCE_WORKFLOW]: withoutSource(sourceWorkflowIdOf('', '')),
    [SOURCE_POWER_WORKFLOW]: withoutSource(sourcePowerWorkflowIdOf(NO_SOURCE)),
    [TEMPLATE_WORKFLOW]: 'template/',
    [MAKE_TEMPLATE_WORKFLOW]: templateRequestWorkflowIdOf(''),
    [PLAYBOOK_WORKFLOW]: playbookWorkflowIdOf(''),
    [IMAGE_WORKFLOW]: imageWorkflowIdOf({ name: '' }),
    [DISPATCHER_WORKFLOW]: 'function/',
    [BULK_WORKFLOW]: bulkWorkflowIdOf(''),
    [SETUP_WORKFLOW]: 'setup/',
    [POOL_WORKFLOW]: 'pool/',
    [FORGET_HOST_WORKFLOW]: forgetHostWorkflowIdOf(''),
  }),
);
const SIGNALS = new Set([
  DESTROY,
  EVENT_HAPPENED,
  TRUST_CHANGED,
  CANCEL_COMMAND,
  FORCE_STOP,
  RELEASED,
  REMOVE_TEMPLATE,
  CANCEL_IMAGE,
  CANCEL_PLAYBOOK,
  CANCEL_RUN,
  LOOK,
  DELETE_POOL,
  POOL_USED,
  POOL_PREEMPTED,
]);
const UPDATES = new Set([ACCEPTED, SETTLED, PATCH, OPERATE, OPERATED, RESTORE_RECORD, CLAIM, RETIRE, SET_POOL]);

function withoutSource(workflowId: string): string {
  return workflowId.slice(0, workflowId.indexOf('/') + 1);
}

const signalled = (name: string | null | undefined) =>
  SIGNALS.has(name ?? '') ? null : `the signal ${name} is not for it to send`;
const updated = (name: string | null | undefined) =>
  UPDATES.has(name ?? '') ? null : `the update ${name} is not for it to ask for`;

/**
 * Rules of the API: it starts workflows and sends them its callers' signals and updates. It runs no workflow, and ends
 * none but by its own signals.
 */
export const API_RULES: Rules = {
  ...LOOKING,
  StartWorkflowExecution: (request) => whyNotStarted(request, STARTS),
  SignalWithStartWorkflowExecution: (request) => whyNotStarted(request, STARTS) ?? signalled(request.signalName),
  SignalWorkflowExecution: ({ signalName }) => signalled(signalName),
  UpdateWorkflowExecution: ({ request }) => updated(request?.input?.name),
  PollWorkflowExecutionUpdate: () => null,
  GetWorkflowExecutionHistory: (request) => endOf(request, () => null),
  ExecuteMultiOperation: ({ namespace, operations = [] }) => {
    for (const { startWorkflow, updateWorkflow } of operations) {
      const why =
        (startWorkflow && whyNotStarted(startWorkflow, STARTS)) ??
        (updateWorkflow && updated(updateWorkflow.request?.input?.name));
      if (why) return why;
      if ((startWorkflow ?? updateWorkflow)?.namespace !== namespace) return 'the namespace is another';
    }
    return null;
  },
};
