import { FORGET_HOST_WORKFLOW, type ForgetHostInput, forgetHostWorkflowIdOf } from '../../model/sagas/forget-host.ts';
import { readable } from '../../model/sagas/readable.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

/** Decommissions hosts. */
export class HostWorkflows extends WorkflowClient {
  /** Starts the decommissioning of a lost host, or joins it. Resolves when Temporal has it. */
  async forget(input: ForgetHostInput): Promise<void> {
    const { hostId, actor } = input;
    await this.startUnlessRunning(FORGET_HOST_WORKFLOW, {
      workflowId: forgetHostWorkflowIdOf(hostId),
      args: [input],
      staticSummary: readable(`forget ${hostId}`),
      staticDetails: `Asked for by API key ${actor.apiKeyId}`,
    });
  }

  /** Resolves when the decommissioning has ended. @throws the signal's reason when it fires first */
  async forgotten(hostId: string, signal: AbortSignal): Promise<void> {
    await this.result(forgetHostWorkflowIdOf(hostId), signal);
  }
}
