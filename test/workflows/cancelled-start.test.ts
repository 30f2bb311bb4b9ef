import { fileURLToPath } from 'node:url';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { COMMAND_WORKFLOW, commandWorkflowIdOf } from '../../model/sandbox/command-saga.ts';

const workflowsPath = fileURLToPath(new URL('../support/cut-short.ts', import.meta.url));
const child = {
  workflowExecution: { workflowId: commandWorkflowIdOf('cmd-1'), runId: 'run-2' },
  workflowType: { name: COMMAND_WORKFLOW },
};

/** Returns an event in Temporal's JSON. */
function event(type: string, attributes: object = {}) {
  return { eventType: type, [`${type[0]?.toLowerCase()}${type.slice(1)}EventAttributes`]: attributes };
}

/** Returns the events of a workflow task. @param at id of the first event */
function workflowTask(at: number) {
  return [
    event('WorkflowTaskScheduled'),
    event('WorkflowTaskStarted', { scheduledEventId: at }),
    event('WorkflowTaskCompleted', { scheduledEventId: at, startedEventId: at + 1 }),
  ];
}

/** Guards: SDK 1.24 never resolves a start that is cancelled between its two events, and abandoned. */
it("a task cancelled during its command's start ends", async () => {
  const payload = { metadata: { encoding: btoa('json/plain') }, data: btoa(JSON.stringify({ commandId: 'cmd-1' })) };
  const events = [
    event('WorkflowExecutionStarted', {
      workflowType: { name: 'cutShort' },
      taskQueue: { name: 'control' },
      originalExecutionRunId: 'run-1',
      workflowTaskTimeout: '10s',
      attempt: 1,
      input: { payloads: [payload] },
    }),
    ...workflowTask(2),
    event('StartChildWorkflowExecutionInitiated', {
      workflowId: child.workflowExecution.workflowId,
      workflowType: child.workflowType,
    }),
    event('WorkflowExecutionSignaled', { signalName: 'end' }),
    ...workflowTask(7),
    event('ChildWorkflowExecutionStarted', { ...child, initiatedEventId: '5' }),
    ...workflowTask(11),
    event('WorkflowExecutionCompleted', { workflowTaskCompletedEventId: 13 }),
  ].map((each, at) => ({ ...each, eventId: String(at + 1), eventTime: '2026-11-28T00:00:00Z' }));
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  await expect(Worker.runReplayHistory({ workflowsPath }, { events })).resolves.toBeUndefined();
});
