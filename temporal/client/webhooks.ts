import { readable } from '../../model/sagas/readable.ts';
import {
  DELIVERY_WORKFLOW,
  type DeliveryInput,
  deliveryWorkflowIdOf,
  LOOK_AT_DELIVERY,
} from '../../model/webhooks/delivery-saga.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

/** Starts and wakes the workflows of webhook deliveries. */
export class DeliveryWorkflows extends WorkflowClient {
  /** Begins a delivery, unless its workflow runs; one that is over ends at once. */
  async begin(input: DeliveryInput): Promise<void> {
    await this.startUnlessRunning(DELIVERY_WORKFLOW, optionsOf(input));
  }

  /** Has the workflow of a delivery read its record now; begins one unless one runs. */
  async wake(input: DeliveryInput): Promise<void> {
    await this.signalWithStart(DELIVERY_WORKFLOW, optionsOf(input), LOOK_AT_DELIVERY);
  }
}

function optionsOf(input: DeliveryInput) {
  return {
    workflowId: deliveryWorkflowIdOf(input.deliveryId),
    args: [input],
    staticSummary: readable(`sends ${input.deliveryId}`),
  };
}
