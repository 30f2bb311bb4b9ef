import type proto from '@temporalio/proto';
import { CONTROL_QUEUE } from '../../model/sagas/queues.ts';

type Start = proto.temporal.api.workflowservice.v1.IStartWorkflowExecutionRequest;
type SignalWithStart = proto.temporal.api.workflowservice.v1.ISignalWithStartWorkflowExecutionRequest;

/**
 * temporal.api.enums.v1.WorkflowIdReusePolicy and WorkflowIdConflictPolicy: policies that terminate a running workflow.
 */
const TERMINATE_IF_RUNNING = 4;
const TERMINATE_EXISTING = 3;

/**
 * Fields that a caller may set. Others would hand the first workflow task to the caller, add callbacks, repeat the
 * workflow, or are unknown here.
 */
const FIELDS: ReadonlySet<string> = new Set<keyof Start | keyof SignalWithStart>([
  'namespace',
  'workflowId',
  'workflowType',
  'taskQueue',
  'input',
  'workflowExecutionTimeout',
  'workflowRunTimeout',
  'workflowTaskTimeout',
  'identity',
  'requestId',
  'workflowIdReusePolicy',
  'workflowIdConflictPolicy',
  'memo',
  'searchAttributes',
  'header',
  'userMetadata',
  'signalName',
  'signalInput',
]);

/**
 * Returns the reason to refuse the start of a workflow; null: it is allowed.
 * @param prefixes prefixes of ids, by allowed workflow type
 */
export function findStartProblem(start: Start & SignalWithStart, prefixes: ReadonlyMap<string, string>): string | null {
  const type = start.workflowType?.name ?? '';
  const prefix = prefixes.get(type);
  if (prefix === undefined) return `a workflow of type ${type} is not for it to start`;
  if (!start.workflowId?.startsWith(prefix)) return `a workflow of type ${type} has another id`;
  if (start.taskQueue?.name !== CONTROL_QUEUE) return 'a workflow runs on the queue of the control worker';
  const ends = start.workflowIdReusePolicy === TERMINATE_IF_RUNNING;
  if (ends || start.workflowIdConflictPolicy === TERMINATE_EXISTING) return 'a run is not for it to end';
  const other = Object.entries(start).find(([name, value]) => isSet(value) && !FIELDS.has(name));
  return other ? `${other[0]} is not for it to set` : null;
}

function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== null && value !== undefined && value !== false && value !== '';
}
