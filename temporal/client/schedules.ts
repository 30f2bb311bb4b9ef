import { markReadable } from '../../model/sagas/readable.ts';
import {
  SCHEDULE_WORKFLOW,
  type ScheduleInput,
  scheduleWorkflowId,
  WAKE_SCHEDULE,
} from '../../model/schedules/schedule-saga.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

const OPEN_SCHEDULES = `WorkflowType = "${SCHEDULE_WORKFLOW}" AND ExecutionStatus = "Running"`;

/** Starts and wakes the workflows of schedules. */
export class ScheduleWorkflows extends WorkflowClient {
  /** Wakes the workflow of a schedule to read its record now; starts one unless one runs. */
  async wake(ref: ScheduleInput): Promise<void> {
    await this.signalWithStart(SCHEDULE_WORKFLOW, optionsOf(ref), WAKE_SCHEDULE);
  }

  /** Starts the workflow of a schedule unless one runs. */
  async ensure(ref: ScheduleInput): Promise<void> {
    await this.startUnlessRunning(SCHEDULE_WORKFLOW, optionsOf(ref));
  }

  /** Returns the schedules whose workflow does not run, by one query for all. */
  async withoutWorkflow<T extends ScheduleInput>(refs: readonly T[]): Promise<T[]> {
    const open = new Set<string>();
    for await (const { workflowId } of this.client.workflow.list({ query: OPEN_SCHEDULES })) open.add(workflowId);
    return refs.filter((ref) => !open.has(scheduleWorkflowId(ref)));
  }
}

function optionsOf({ project, name }: ScheduleInput) {
  return {
    workflowId: scheduleWorkflowId({ project, name }),
    args: [{ project, name }],
    staticSummary: markReadable(`has ${name} of ${project} fire`),
  };
}
