import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { executeChild, ParentClosePolicy, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import { COMMAND_WORKFLOW, type CommandInput, commandWorkflowIdOf } from '../../model/sandbox/command-saga.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';

/** No task is longer. */
const { awaitCommandEnd } = proxyActivities<ControlActivities>(PROFILE.follow(300 * MINUTE_MS));

/**
 * Runs what a task has written down to its end, in a sandbox of its own; it ends with that, if the task does before it. What is
 * written down is begun by whoever finds it: where the reconciler was first, the end of what it began is waited for.
 */
export async function runTaskCommand(command: CommandInput, staticSummary: string): Promise<void> {
  try {
    await executeChild<(input: CommandInput) => Promise<void>>(COMMAND_WORKFLOW, {
      workflowId: commandWorkflowIdOf(command.commandId),
      args: [command],
      cancellationType: 'ABANDON',
      parentClosePolicy: ParentClosePolicy.ABANDON,
      staticSummary,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    await awaitCommandEnd({ commandId: command.commandId });
  }
}
