import { markReadable } from '../../model/sagas/readable.ts';
import type { EndSignal } from '../../model/sandbox/command.ts';
import {
  CANCEL_COMMAND,
  COMMAND_WORKFLOW,
  type CommandInput,
  commandWorkflowIdOf,
} from '../../model/sandbox/command-saga.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

/** Starts and cancels the workflows of commands. */
export class CommandWorkflows extends WorkflowClient {
  /** Starts the workflow of a recorded command. Resolves when Temporal has it; a repeated id joins the existing one. */
  async begin(input: CommandInput): Promise<void> {
    await this.start(COMMAND_WORKFLOW, {
      ...optionsOf(input),
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
    });
  }

  /** Restarts the workflow of an unfinished command. Idempotent. */
  async resume(input: CommandInput): Promise<void> {
    await this.startUnlessRunning(COMMAND_WORKFLOW, optionsOf(input));
  }

  /** Resolves when Temporal has the request; it waits there while the host is down. */
  async cancel(commandId: string, actor: Actor, signal: EndSignal): Promise<void> {
    await this.signal(commandWorkflowIdOf(commandId), CANCEL_COMMAND, actor, signal);
  }
}

function optionsOf(input: CommandInput) {
  return {
    workflowId: commandWorkflowIdOf(input.commandId),
    args: [input],
    staticSummary: markReadable(`${input.commandId} in ${input.sandboxId}`),
  };
}
