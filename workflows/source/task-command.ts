import { CancellationScope } from '@temporalio/workflow';
import { COMMAND_WORKFLOW, type CommandInput, commandWorkflowIdOf } from '../../model/sandbox/command-saga.ts';
import { controlUntilDone } from '../saga/control.ts';
import { startUnlessPresent, waitForWorkflow } from '../saga/subscription.ts';

/**
 * Runs what a task has written down to its end, in a sandbox of its own; it ends with that, if the task does before it. What is
 * written down is begun by whoever finds it: where the reconciler was first, the end of what it began is waited for.
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
