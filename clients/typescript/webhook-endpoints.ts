import { Resource } from './http/resource.ts';
import type { PostOptions } from './http/transport.ts';

/** Receivers of the project's events, signed by Standard Webhooks. */
export class WebhookEndpoints extends Resource {
  readonly create = this.send('POST /v1/webhook-endpoints');
  /** Oldest first. */
  readonly list = this.ask('GET /v1/webhook-endpoints');
  readonly get = this.ask('GET /v1/webhook-endpoints/{id}');
  readonly change = this.send('PATCH /v1/webhook-endpoints/{id}');
  readonly delete = this.ask('DELETE /v1/webhook-endpoints/{id}');
  /** Replaces the secret: for 24 hours the old one signs too. */
  readonly rotate = this.ask('POST /v1/webhook-endpoints/{id}/rotate');
  /** Newest first. */
  readonly deliveries = this.ask('GET /v1/webhook-endpoints/{id}/deliveries');
  /** Sends a delivery again, now, under the same id. */
  readonly redeliver = this.ask('POST /v1/webhook-endpoints/{id}/deliveries/{deliveryId}/redeliver');
  readonly #recover = this.send('POST /v1/webhook-endpoints/{id}/recover');

  /** Sends all abandoned deliveries again. @param since earliest creation @returns number of deliveries */
  async recover(id: string, since: Date, options: PostOptions = {}): Promise<number> {
    return (await this.#recover(id, { since: since.toISOString() }, options)).count;
  }
}
