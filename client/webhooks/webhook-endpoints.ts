import type { DeliveryRecord, DeliveryState } from '../../model/webhooks/delivery.ts';
import type { EndpointRecord, WebhookFormat, WebhookSignature, WebhookType } from '../../model/webhooks/endpoint.ts';
import type { Page, PageOptions } from '../http/options.ts';
import type { CallOptions, PostOptions, Transport } from '../http/transport.ts';

/** Where events of the project are sent to. */
export interface CreateWebhookEndpoint {
  /** https or http, and of an address that the installation lets webhooks reach. */
  url: string;
  types: WebhookType[];
  /** `@default` standard */
  format?: WebhookFormat;
  /** `@default` v1 */
  signature?: WebhookSignature;
}

/** What changes of one; what is not named stays. */
export interface ChangeWebhookEndpoint extends Partial<Omit<CreateWebhookEndpoint, 'signature'>> {
  /** false: events are sent again, from now on. */
  disabled?: boolean;
}

export interface WebhookEndpoint extends Omit<EndpointRecord, 'secrets' | 'slowed'> {
  /** `whpk_…`, of `v1a`, the newest first. */
  publicKeys: string[];
}

export interface NewWebhookEndpoint extends WebhookEndpoint {
  /** `whsec_…`, which nothing tells again; null with `v1a`. */
  secret: string | null;
}

/** What was sent of one event. An `answer` is shown to keys with the scope `admin` alone. */
export type WebhookDelivery = Omit<
  DeliveryRecord,
  'project' | 'format' | 'body' | 'tries' | 'askedAt' | 'sendingSince'
>;

const ALL = '/v1/webhook-endpoints';

/** Where events of the project are sent to, signed by Standard Webhooks. Throws as {@link MayflyClient} does. */
export class WebhookEndpoints {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(endpoint: CreateWebhookEndpoint, options: PostOptions = {}): Promise<NewWebhookEndpoint> {
    return this.#transport.json({ method: 'POST', path: ALL, body: endpoint }, options);
  }

  /** The oldest first. */
  list(options: CallOptions = {}): Promise<Page<WebhookEndpoint>> {
    return this.#transport.json({ method: 'GET', path: ALL }, options);
  }

  get(id: string, options: CallOptions = {}): Promise<WebhookEndpoint> {
    return this.#transport.json({ method: 'GET', path: pathOf(id) }, options);
  }

  change(id: string, changes: ChangeWebhookEndpoint, options: CallOptions = {}): Promise<WebhookEndpoint> {
    return this.#transport.json({ method: 'PATCH', path: pathOf(id), body: changes }, options);
  }

  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.json({ method: 'DELETE', path: pathOf(id) }, options);
  }

  /** Gives it another secret: for 24 hours the old one signs too. */
  rotate(id: string, options: PostOptions = {}): Promise<NewWebhookEndpoint> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(id)}/rotate` }, options);
  }

  /** What was sent to it, newest first. */
  deliveries(
    id: string,
    { limit, cursor, state, ...options }: PageOptions & { state?: DeliveryState } = {},
  ): Promise<Page<WebhookDelivery>> {
    const query = { limit, cursor, state };
    return this.#transport.json({ method: 'GET', path: `${pathOf(id)}/deliveries`, query }, options);
  }

  /** Sends it again, now, under the same id. */
  redeliver(id: string, deliveryId: string, options: PostOptions = {}): Promise<WebhookDelivery> {
    const path = `${pathOf(id)}/deliveries/${encodeURIComponent(deliveryId)}/redeliver`;
    return this.#transport.json({ method: 'POST', path }, options);
  }

  /** Sends all again that were given up. @param since made then or later @returns how many */
  async recover(id: string, since: Date, options: PostOptions = {}): Promise<number> {
    const body = { since: since.toISOString() };
    const path = `${pathOf(id)}/recover`;
    return (await this.#transport.json<{ count: number }>({ method: 'POST', path, body }, options)).count;
  }
}

function pathOf(id: string): string {
  return `${ALL}/${encodeURIComponent(id)}`;
}
