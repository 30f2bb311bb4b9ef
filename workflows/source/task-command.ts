import { CancellationScope } from '@temporalio/workflow';
import { COMMAND_WORKFLOW, type CommandInput, commandWorkflowIdOf } from '../../model/sandbox/command-saga.ts';
import { controlUntilDone } from '../saga/control.ts';
import { startUnlessPresent, waitForWorkflow } from '../saga/subscription.ts';

/**
 * Runs a task's recorded command to its end, in a sandbox of the task; it ends with the sandbox. Either the task or the
 * reconciler starts it: where the reconciler was first, waits for its end.
 */
export async function runTaskCommand(command: CommandInput, staticSummary: string): Promise<void> {
  const { commandId } = command;
  const workflowId = commandWorkflowIdOf(commandId);
  const child = await startUnlessPresent<(input: CommandInput) => Promise<void>>(COMMAND_WORKFLOW, {
    workflowId,
    args: [command],
    staticSummary,
  });
  if (child) await Promise.race([child.result(), CancellationScope.current().cancelRequested]);
  else await waitForWorkflow({ workflowId }, () => controlUntilDone.isCommandOver({ commandId }));
}
