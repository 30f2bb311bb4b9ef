import { useFunctionCases } from './function-cases.ts';
import { useOpened } from './use-opened.ts';
import { WebhookReceiver } from './webhook-receiver.ts';
import { TestWebhooks } from './webhooks.ts';

/** Extends {@link useFunctionCases} by webhooks and a receiver. */
export function useWebhookCases() {
  const cases = useFunctionCases({ env: () => ({ MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' }) });
  const receiver = useOpened(
    () => WebhookReceiver.open(),
    (opened) => opened.close(),
  );
  return { ...cases, webhooks: () => new TestWebhooks(cases.door()), receiver };
}
