import { createServer } from 'node:http';
import { WebhookReceiver } from '../../support/webhook-receiver.ts';

let opened: Promise<WebhookReceiver> | null = null;

/** The program that is told of events: one of this process, which it does not keep alive. */
export function receiver(): Promise<WebhookReceiver> {
  const server = createServer();
  server.unref();
  opened ??= WebhookReceiver.open(server);
  return opened;
}
