import type { z } from '@hono/zod-openapi';
import { expect } from 'vitest';
import { WebhookPublisher } from '../../activities/webhook/announcer.ts';
import type { deliveryAnswer } from '../../api/webhooks/deliveries.ts';
import type { newEndpointAnswer } from '../../api/webhooks/endpoint-schemas.ts';
import { ControlTemporalClient } from '../../temporal/reconciliation.ts';
import type { TestDoor } from './door.ts';
import { eventually } from './eventually.ts';
import type { TestMayfly } from './mayfly.ts';

export type Endpoint = z.infer<typeof newEndpointAnswer>;
export type Delivery = z.infer<typeof deliveryAnswer>;

const ALL = '/v1/webhook-endpoints';

export class TestWebhooks {
  constructor(private readonly door: TestDoor) {}

  async create(url: string, more: object = {}): Promise<Endpoint> {
    const response = await this.door.call('POST', ALL, { url, types: ['run.ended'], ...more });
    const body = await response.json();
    expect({ status: response.status, body }).toMatchObject({ status: 201 });
    return body as Endpoint;
  }

  async get({ id }: Pick<Endpoint, 'id'>): Promise<Endpoint> {
    return (await (await this.door.call('GET', `${ALL}/${id}`)).json()) as Endpoint;
  }

  async rotate({ id }: Pick<Endpoint, 'id'>): Promise<Endpoint> {
    return (await (await this.door.call('POST', `${ALL}/${id}/rotate`)).json()) as Endpoint;
  }

  async change({ id }: Pick<Endpoint, 'id'>, changes: object): Promise<Endpoint> {
    return (await (await this.door.call('PATCH', `${ALL}/${id}`, changes)).json()) as Endpoint;
  }

  async deliveries({ id }: Pick<Endpoint, 'id'>): Promise<Delivery[]> {
    const response = await this.door.call('GET', `${ALL}/${id}/deliveries`);
    return ((await response.json()) as { items: Delivery[] }).items;
  }

  /** Returns the only delivery once it satisfies `wish`. */
  async delivery(endpoint: Pick<Endpoint, 'id'>, wish: (delivery: Delivery) => boolean): Promise<Delivery> {
    const [found] = await eventually(
      () => this.deliveries(endpoint),
      (all) => all[0] !== undefined && wish(all[0]),
    );
    if (!found) throw new Error('there is none');
    return found;
  }

  redeliver({ endpointId, id }: Pick<Delivery, 'endpointId' | 'id'>): Promise<Response> {
    return this.door.call('POST', `${ALL}/${endpointId}/deliveries/${id}/redeliver`);
  }

  recover({ id }: Pick<Endpoint, 'id'>, since: string): Promise<Response> {
    return this.door.call('POST', `${ALL}/${id}/recover`, { since });
  }
}

/** Runs one poll of the control worker's, which is due each second. */
export async function lookAtWebhooks({ store, client }: Pick<TestMayfly, 'store' | 'client'>): Promise<void> {
  const failures: unknown[] = [];
  await new WebhookPublisher(store, new ControlTemporalClient(client)).look((error) => void failures.push(error));
  expect(failures).toEqual([]);
}
