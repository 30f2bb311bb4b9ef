/** The workflow that sends one event to one endpoint, until it is taken or given up. */
export const DELIVERY_WORKFLOW = 'delivery';
export interface DeliveryInput {
  deliveryId: string;
}
/** Signal, no arguments: the record says that it is to be sent now. */
export const LOOK_AT_DELIVERY = 'lookAtDelivery';

export function deliveryWorkflowIdOf(deliveryId: string): string {
  return `delivery/${deliveryId}`;
}

/** The task queue of requests to endpoints: what hangs there keeps nothing else of the control worker waiting. */
export const WEBHOOK_QUEUE = 'mayfly-webhooks';
