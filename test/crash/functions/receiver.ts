import { createServer } from 'node:http';
import { WebhookReceiver } from '../../support/webhook-receiver.ts';

let opened: Promise<WebhookReceiver> | null = null;

/** Returns the webhook receiver of this process, which does not keep it alive. */
export function receiver(): Promise<WebhookReceiver> {
  const server = createServer();
  server.unref();
  opened ??= WebhookReceiver.open(server);
  return opened;
}
