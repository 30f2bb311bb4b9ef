import {
  DECOMMISSION_HOST_WORKFLOW,
  type DecommissionHostInput,
  decommissionHostWorkflowId,
} from '../../model/sagas/forget-host.ts';
import { markReadable } from '../../model/sagas/readable.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

/** Decommissions hosts. */
export class HostWorkflows extends WorkflowClient {
  /** Starts the decommissioning of a lost host, or joins it. Resolves when Temporal has it. */
  async forget(input: DecommissionHostInput): Promise<void> {
    const { hostId, actor } = input;
    await this.startUnlessRunning(DECOMMISSION_HOST_WORKFLOW, {
      workflowId: decommissionHostWorkflowId(hostId),
      args: [input],
      staticSummary: markReadable(`forget ${hostId}`),
      staticDetails: `Asked for by API key ${actor.apiKeyId}`,
    });
  }

  /** Resolves when the decommissioning has ended. @throws the signal's reason when it fires first */
  async forgotten(hostId: string, signal: AbortSignal): Promise<void> {
    await this.result(decommissionHostWorkflowId(hostId), signal);
  }
}
