import {
  CANCEL_PLAYBOOK,
  PLAYBOOK_WORKFLOW,
  type PlaybookInput,
  playbookWorkflowIdOf,
} from '../../model/playbook/playbook-saga.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

/** Starts and cancels the workflows of playbooks. */
export class PlaybookWorkflows extends WorkflowClient {
  /** Starts the workflow of a playbook, or joins it. Resolves when Temporal has it. */
  async write(input: PlaybookInput): Promise<void> {
    const { playbookId, sandboxId, actor } = input;
    await this.start(PLAYBOOK_WORKFLOW, {
      workflowId: playbookWorkflowIdOf(playbookId),
      args: [input],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `${playbookId} of ${sandboxId}`,
      staticDetails: `Asked for by API key ${actor.apiKeyId}`,
    });
  }

  /** Resolves when Temporal has the request, or nothing runs that could be cancelled. */
  async cancel(playbookId: string, actor: Actor): Promise<void> {
    await this.signal(playbookWorkflowIdOf(playbookId), CANCEL_PLAYBOOK, actor);
  }
}
