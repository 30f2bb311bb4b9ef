import { randomUUID } from 'node:crypto';
import type { Connection } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { DECOMMISSION_HOST_WORKFLOW } from '../../../model/sagas/forget-host.ts';
import { MACHINE_ENDED, OPERATE, type SandboxInput } from '../../../model/sagas/messages.ts';
import { CONTROL_QUEUE, hostQueue, sandboxWorkflowId } from '../../../model/sagas/queues.ts';
import { RECONCILE_HOST_WORKFLOW } from '../../../model/sagas/reconcile.ts';
import { INSTALLATION } from '../../support/installation-id.ts';

/** Attack by a script with a process's certificate on Temporal. */
export type Attack = (service: Connection['workflowService'], at: Attacked) => Promise<unknown>;
export type Attacks = Record<string, Attack>;

type Start = (type: string, workflowId: string, input: unknown, more?: object) => Promise<object>;
interface Attacked {
  /** Sandbox on the host `test`. */
  sandboxId: string;
  workflowExecution: { workflowId: string };
  /** Queue of that host. */
  queue: string;
  newSandbox: SandboxInput;
  encoded: (value: unknown) => Promise<{ payloads: Payload[] }>;
  /** Request that starts a workflow. */
  start: Start;
}

/** Id of the compromised host. */
export const OTHER = 'other';
const namespace = 'default';
const actor = { apiKeyId: 'admin', agentId: null };

export function attacked(of: Pick<Attacked, 'sandboxId' | 'queue' | 'newSandbox' | 'encoded'>): Attacked {
  const start: Start = async (type, workflowId, input, more = {}) => ({
    namespace,
    workflowId,
    workflowType: { name: type },
    taskQueue: { name: CONTROL_QUEUE },
    input: await of.encoded(input),
    requestId: randomUUID(),
    ...more,
  });
  return { ...of, workflowExecution: { workflowId: sandboxWorkflowId(of.sandboxId) }, start };
}

/** Attacks forbidden to both hosts and the API. */
export const ATTACKS: Attacks = {
  'ends a run': (service, { workflowExecution }) =>
    service.terminateWorkflowExecution({ namespace, workflowExecution }),
  'cancels a run': (service, { workflowExecution }) =>
    service.requestCancelWorkflowExecution({ namespace, workflowExecution, requestId: randomUUID() }),
  'deletes a run': (service, { workflowExecution }) =>
    service.deleteWorkflowExecution({ namespace, workflowExecution }),
  'sets a run back': (service, { workflowExecution }) =>
    service.resetWorkflowExecution({ namespace, workflowExecution, workflowTaskFinishEventId: 4 as never }),
  'ends all runs': (service) =>
    service.startBatchOperation({
      namespace,
      jobId: randomUUID(),
      reason: 'x',
      visibilityQuery: "WorkflowType = 'sandbox'",
      terminationOperation: {},
    }),
  'tells a sandbox of a death that it has not seen': (service, { workflowExecution }) =>
    service.signalWorkflowExecution({ namespace, workflowExecution, signalName: MACHINE_ENDED }),
  'reads a history': (service, { workflowExecution: execution }) =>
    service.getWorkflowExecutionHistory({ namespace, execution }),
  'reads a history backwards': (service, { workflowExecution: execution }) =>
    service.getWorkflowExecutionHistoryReverse({ namespace, execution }),
  'lists runs': (service) => service.listWorkflowExecutions({ namespace }),
  'asks a run': (service, { workflowExecution: execution }) =>
    service.queryWorkflow({ namespace, execution, query: { queryType: '__stack_trace' } }),
  'answers for the control worker': (service) =>
    service.pollWorkflowTaskQueue({ namespace, taskQueue: { name: CONTROL_QUEUE } }),
  'takes activities of the control worker': (service) =>
    service.pollActivityTaskQueue({ namespace, taskQueue: { name: CONTROL_QUEUE } }),
  'takes the work of another host': (service, { queue }) =>
    service.pollActivityTaskQueue({ namespace, taskQueue: { name: queue } }),
  'runs workflows of its own': (service) =>
    service.pollWorkflowTaskQueue({
      namespace,
      taskQueue: { name: hostQueue({ hostId: OTHER, installationId: INSTALLATION }) },
    }),
  'puts a token together': (service) =>
    service.respondActivityTaskCompleted({ namespace, taskToken: Buffer.from('0a05', 'hex') }),
  'puts a longer token together': (service) =>
    service.recordActivityTaskHeartbeat({ namespace, taskToken: Buffer.alloc(99) }),
  'gives no token': (service) => service.respondActivityTaskFailed({ namespace }),
  'answers by ids': (service, { workflowExecution }) =>
    service.respondActivityTaskCompletedById({ namespace, ...workflowExecution, activityId: '1' }),
  'starts a workflow on a queue of its own': async (service, { start }) => {
    const taskQueue = { name: hostQueue({ hostId: OTHER, installationId: INSTALLATION }) };
    return service.startWorkflowExecution(await start('certificate', 'certificate/x/y', {}, { taskQueue }));
  },
  'starts a workflow that is not ours': async (service, { start }) =>
    service.startWorkflowExecution(await start('rogue', 'certificate/x/z', {})),
  'starts one in the place of a sandbox': async (service, { start, workflowExecution }) =>
    service.startWorkflowExecution(
      await start('certificate', workflowExecution.workflowId, {}, { workflowIdConflictPolicy: 3 }),
    ),
  'starts one that ends another': async (service, { start }) =>
    service.startWorkflowExecution(await start('certificate', 'certificate/x/w', {}, { workflowIdReusePolicy: 4 })),
  'starts one whose first task it is handed': async (service, { start }) =>
    service.startWorkflowExecution(await start('certificate', 'certificate/x/v', {}, { requestEagerExecution: true })),
  'starts one again and again': async (service, { start }) =>
    service.startWorkflowExecution(await start('certificate', 'certificate/x/u', {}, { cronSchedule: '* * * * *' })),
  'starts a comparison': async (service, { start }) =>
    service.startWorkflowExecution(await start('reconcile', 'reconcile', { everyMs: 1, graceMs: 0 })),
  'compares another host': async (service, { start }) =>
    service.startWorkflowExecution(
      await start(RECONCILE_HOST_WORKFLOW, 'reconcile/test', { hostId: 'test', graceMs: 0 }),
    ),
  'compares another host in its own name': async (service, { start }) =>
    service.startWorkflowExecution(
      await start(RECONCILE_HOST_WORKFLOW, `reconcile/${OTHER}`, { hostId: 'test', graceMs: 0 }),
    ),
  'starts by a schedule': (service) => service.createSchedule({ namespace, scheduleId: 'x', schedule: {} }),
  'stops a schedule': (service) => service.deleteSchedule({ namespace, scheduleId: 'x' }),
  'asks in another namespace': (service) =>
    service.describeWorkflowExecution({ namespace: 'temporal-system', execution: { workflowId: 'x' } }),
  'changes the namespace': (service) => service.updateNamespace({ namespace }),
  'makes a namespace': (service) => service.registerNamespace({ namespace: 'x' }),
};

/** Requests allowed to the API, and forbidden to a host. */
export const OF_THE_API: Attacks = {
  'destroys a sandbox': (service, { workflowExecution }) =>
    service.signalWorkflowExecution({ namespace, workflowExecution, signalName: 'destroy' }),
  'destroys it by a run of its own': async (service, { start, workflowExecution, sandboxId, newSandbox }) => {
    const input = { ...newSandbox, id: sandboxId, begin: 'destroy' };
    const started = await start('sandbox', workflowExecution.workflowId, input);
    return service.signalWithStartWorkflowExecution({ ...started, signalName: 'destroy' });
  },
  'makes a sandbox': async (service, { start, newSandbox }) =>
    service.startWorkflowExecution(await start('sandbox', sandboxWorkflowId(newSandbox.id), newSandbox)),
  'makes a sandbox, and waits': async (service, { start, newSandbox }) => {
    const startWorkflow = await start('sandbox', sandboxWorkflowId(newSandbox.id), newSandbox);
    return service.executeMultiOperation({ namespace, operations: [{ startWorkflow }] });
  },
  "runs a command in a key's name": async (service, { start, sandboxId }) =>
    service.startWorkflowExecution(await start('command', 'command/cmd-00000000000000zz', { sandboxId })),
  'forgets a host': async (service, { start }) =>
    service.startWorkflowExecution(
      await start(DECOMMISSION_HOST_WORKFLOW, 'forget/test', { hostId: 'test', actor, at: new Date().toISOString() }),
    ),
  'gives a host up': (service, { workflowExecution }) =>
    service.signalWorkflowExecution({ namespace, workflowExecution, signalName: 'hostForgotten' }),
  'changes a sandbox': (service, { workflowExecution }) =>
    service.updateWorkflowExecution({ namespace, workflowExecution, request: { input: { name: 'patch' } } }),
  'stops the sandbox of another host': async (service, { workflowExecution, encoded }) => {
    const args = await encoded({
      kind: 'suspend-for-space',
      operationId: 'opn-0000000000000001',
      cause: 'host',
      why: 'x',
    });
    const input = { name: OPERATE, args };
    return service.updateWorkflowExecution({ namespace, workflowExecution, request: { input } });
  },
  'hears how another sandbox ended': (service, { workflowExecution: execution }) =>
    service.getWorkflowExecutionHistory({ namespace, execution, historyEventFilterType: 2 }),
};
