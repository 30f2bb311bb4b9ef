import { afterAll, beforeAll } from 'vitest';
import { useFunctionCases } from './function-cases.ts';
import { WebhookReceiver } from './webhook-receiver.ts';
import { TestWebhooks } from './webhooks.ts';

/** {@link useFunctionCases} with webhooks, and a receiver of them. */
export function useWebhookCases() {
  const cases = useFunctionCases({ env: () => ({ MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' }) });
  let receiver: WebhookReceiver | undefined;
  beforeAll(async () => {
    receiver = await WebhookReceiver.open();
  });
  afterAll(() => receiver?.close());
  const getReceiver = () => {
    if (!receiver) throw new Error('the receiver is not open yet');
    return receiver;
  };
  return { ...cases, webhooks: () => new TestWebhooks(cases.door()), receiver: getReceiver };
}
