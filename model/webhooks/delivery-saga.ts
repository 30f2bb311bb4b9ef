/** Workflow that delivers one event to one endpoint, with retries. */
export const DELIVERY_WORKFLOW = 'delivery';
export interface DeliveryInput {
  deliveryId: string;
}
/** Signal without arguments: the record is due now. */
export const WAKE_DELIVERY = 'lookAtDelivery';

export function deliveryWorkflowId(deliveryId: string): string {
  return `delivery/${deliveryId}`;
}

/** Task queue of requests to endpoints, separate so that hanging requests do not block the control worker. */
export const WEBHOOK_QUEUE = 'mayfly-webhooks';
