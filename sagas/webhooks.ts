import type { Client } from '@temporalio/client';
import { CONTROL_QUEUE } from '../model/sagas/queues.ts';
import { readable } from '../model/sagas/readable.ts';
import {
  DELIVERY_WORKFLOW,
  type DeliveryInput,
  deliveryWorkflowIdOf,
  LOOK_AT_DELIVERY,
} from '../model/webhooks/delivery-saga.ts';

type Deliver = (input: DeliveryInput) => Promise<void>;

/** Begins a delivery, unless its workflow runs; one that is over ends at once. */
export async function startDelivery(client: Client, input: DeliveryInput): Promise<void> {
  await client.workflow.start<Deliver>(DELIVERY_WORKFLOW, {
    ...optionsOf(input),
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
}

/** Has the workflow of a delivery look at its record now; begins one unless one runs. */
export async function lookAtDelivery(client: Client, input: DeliveryInput): Promise<void> {
  await client.workflow.signalWithStart<Deliver, []>(DELIVERY_WORKFLOW, {
    ...optionsOf(input),
    signal: LOOK_AT_DELIVERY,
    signalArgs: [],
  });
}

function optionsOf(input: DeliveryInput) {
  return {
    workflowId: deliveryWorkflowIdOf(input.deliveryId),
    taskQueue: CONTROL_QUEUE,
    args: [input] as [DeliveryInput],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
    staticSummary: readable(`sends ${input.deliveryId}`),
  };
}
