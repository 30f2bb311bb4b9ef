import { instant, optional } from '../../model/fields.ts';
import { isEndpointId } from '../../model/ids.ts';
import { type DisabledFor, type EndpointRecord, endpointRecord } from '../../model/webhooks/endpoint.ts';
import { compareByAge } from '../mongo/by-age.ts';
import { recordRepositoryOf } from '../repository/repository.ts';
import type { Unreadable } from '../sealed/sealed-fields.ts';

type EndpointChanges = Partial<Omit<EndpointRecord, 'id' | 'project' | 'createdBy' | 'createdAt'>>;

/** Endpoints that receive events. */
export class WebhookEndpoints extends recordRepositoryOf({
  collection: 'webhookEndpoints',
  noun: 'a webhook endpoint',
  isId: isEndpointId,
  model: endpointRecord,
  /** Time at which Mayfly disabled it, while that is unpublished. */
  internal: { untoldDisabling: optional(instant) },
}) {
  /** @returns false when that id exists */
  async create(endpoint: EndpointRecord): Promise<boolean> {
    return this.insertRecord(endpoint);
  }

  /** Lists a project's endpoints, oldest first. @param unreadable collects the unreadable ones */
  async list(project: string, unreadable?: Unreadable[]): Promise<EndpointRecord[]> {
    return (await this.find({ project }, { unreadable })).sort(compareByAge);
  }

  /** @param of condition @returns false when there is none, or it does not match */
  async change(
    id: string,
    changes: EndpointChanges,
    of: Partial<Pick<EndpointRecord, 'disabledAt' | 'failingSince' | 'slowed' | 'updatedAt'>> = {},
  ): Promise<boolean> {
    return this.set({ _id: this.checked(id), ...of }, changes);
  }

  /** Disables an endpoint; this is then to be published. @returns false when it is disabled or unknown */
  async disable(id: string, disabledFor: DisabledFor, disabledAt: string): Promise<boolean> {
    const set = { disabledAt, disabledFor, updatedAt: disabledAt, untoldDisabling: disabledAt };
    return this.set({ _id: this.checked(id), disabledAt: null }, set);
  }

  /** Returns endpoints whose disabling by Mayfly is unpublished. */
  untold(): Promise<EndpointRecord[]> {
    return this.find({ untoldDisabling: { $gt: '' } });
  }

  /** Records that the disabling is published. */
  async told({ id, disabledAt }: EndpointRecord): Promise<void> {
    await this.set({ _id: id, untoldDisabling: disabledAt ?? '' }, {}, ['untoldDisabling']);
  }

  /** Removes an endpoint, also an unreadable one. @param of condition @returns false when there was none */
  async remove(id: string, of: Partial<Pick<EndpointRecord, 'project'>> = {}): Promise<boolean> {
    return this.deleteOne({ _id: this.checked(id), ...of });
  }
}
