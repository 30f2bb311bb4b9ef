import { readable } from '../../model/sagas/readable.ts';
import {
  SCHEDULE_WORKFLOW,
  type ScheduleInput,
  scheduleWorkflowIdOf,
  WAKE_SCHEDULE,
} from '../../model/schedules/schedule-saga.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

/** Starts and wakes the workflows of schedules. */
export class ScheduleWorkflows extends WorkflowClient {
  /** Has the workflow of a schedule read its record now; starts one unless one runs. */
  async wake(ref: ScheduleInput): Promise<void> {
    await this.signalWithStart(SCHEDULE_WORKFLOW, optionsOf(ref), WAKE_SCHEDULE);
  }

  /** Starts the workflow of a schedule unless one runs. */
  async ensure(ref: ScheduleInput): Promise<void> {
    const policies = { workflowIdConflictPolicy: 'USE_EXISTING', workflowIdReusePolicy: 'ALLOW_DUPLICATE' } as const;
    await this.start(SCHEDULE_WORKFLOW, { ...optionsOf(ref), ...policies });
  }
}

function optionsOf({ project, name }: ScheduleInput) {
  return {
    workflowId: scheduleWorkflowIdOf({ project, name }),
    args: [{ project, name }],
    staticSummary: readable(`has ${name} of ${project} fire`),
  };
}
