import { markReadable } from '../../model/sagas/readable.ts';
import {
  DELIVERY_WORKFLOW,
  type DeliveryInput,
  deliveryWorkflowId,
  WAKE_DELIVERY,
} from '../../model/webhooks/delivery-saga.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

/** Starts and wakes the workflows of webhook deliveries. */
export class DeliveryWorkflows extends WorkflowClient {
  /** Starts the workflow of a delivery, unless it runs; for an ended delivery it ends at once. */
  async begin(input: DeliveryInput): Promise<void> {
    await this.startUnlessRunning(DELIVERY_WORKFLOW, optionsOf(input));
  }

  /** Wakes the workflow of a delivery to read its record now; starts one unless one runs. */
  async wake(input: DeliveryInput): Promise<void> {
    await this.signalWithStart(DELIVERY_WORKFLOW, optionsOf(input), WAKE_DELIVERY);
  }
}

function optionsOf(input: DeliveryInput) {
  return {
    workflowId: deliveryWorkflowId(input.deliveryId),
    args: [input],
    staticSummary: markReadable(`sends ${input.deliveryId}`),
  };
}
