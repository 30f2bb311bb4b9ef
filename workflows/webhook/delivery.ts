import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { DeliveryActivities } from '../../activities/webhook/deliver.ts';
import { type DeliveryInput, WAKE_DELIVERY, WEBHOOK_QUEUE } from '../../model/webhooks/delivery-saga.ts';
import { repeatTurns } from '../saga/continue-as-new.ts';

const { attemptDelivery } = proxyActivities<DeliveryActivities>({
  taskQueue: WEBHOOK_QUEUE,
  startToCloseTimeout: '60s',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

/**
 * Sends one event to one endpoint:
 *
 *   attempt → accepted, or given up, as when the workflow is cancelled
 *      └→ pause, which a signal to send now ends → attempt …
 *
 * The record holds the time of the next attempt, so a new workflow resumes a lost one.
 */
export async function delivery({ deliveryId }: DeliveryInput): Promise<void> {
  const attempt = async (isCancelled: boolean) => (await attemptDelivery({ deliveryId, isCancelled }))?.pauseMs ?? null;
  await repeatTurns(WAKE_DELIVERY, attempt, () => continueAsNew<typeof delivery>({ deliveryId }));
}
