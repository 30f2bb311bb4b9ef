import { instant, optional } from '../../model/fields.ts';
import { isEndpointId } from '../../model/ids.ts';
import { type DisabledFor, type EndpointRecord, endpointRecord } from '../../model/webhooks/endpoint.ts';
import { byAge } from '../mongo/by-age.ts';
import { recordRepositoryOf } from '../repository/repository.ts';
import type { Unreadable } from '../sealed/sealed-fields.ts';

type EndpointChanges = Partial<Omit<EndpointRecord, 'id' | 'project' | 'createdBy' | 'createdAt'>>;

/** Where events are sent to, one document each. */
export class WebhookEndpoints extends recordRepositoryOf({
  collection: 'webhookEndpoints',
  noun: 'a webhook endpoint',
  isId: isEndpointId,
  model: endpointRecord,
  /** When it was disabled by itself, as long as nobody was told of that. */
  internal: { untoldDisabling: optional(instant) },
}) {
  /** @returns false: there is one of that id */
  async create(endpoint: EndpointRecord): Promise<boolean> {
    return this.insertRecord(endpoint);
  }

  /** Those of a project, the oldest first. @param unreadable takes those that cannot be read */
  async list(project: string, unreadable?: Unreadable[]): Promise<EndpointRecord[]> {
    return (await this.find({ project }, { unreadable })).sort(byAge);
  }

  /** @param of what holds of it now @returns false: there is none, or that does not hold */
  async change(
    id: string,
    changes: EndpointChanges,
    of: Partial<Pick<EndpointRecord, 'disabledAt' | 'failingSince' | 'slowed' | 'updatedAt'>> = {},
  ): Promise<boolean> {
    return this.set({ _id: this.checked(id), ...of }, changes);
  }

  /** Has nothing more sent to one; that is to be told. @returns false: nothing was */
  async disable(id: string, disabledFor: DisabledFor, disabledAt: string): Promise<boolean> {
    const set = { disabledAt, disabledFor, updatedAt: disabledAt, untoldDisabling: disabledAt };
    return this.set({ _id: this.checked(id), disabledAt: null }, set);
  }

  /** Those that were disabled by themselves, and nobody was told. */
  untold(): Promise<EndpointRecord[]> {
    return this.find({ untoldDisabling: { $gt: '' } });
  }

  /** Those who are to know were told. */
  async told({ id, disabledAt }: EndpointRecord): Promise<void> {
    await this.set({ _id: id, untoldDisabling: disabledAt ?? '' }, {}, ['untoldDisabling']);
  }

  /** Also one that cannot be read. @param of what holds of it @returns whether there was one */
  async remove(id: string, of: Partial<Pick<EndpointRecord, 'project'>> = {}): Promise<boolean> {
    return this.deleteOne({ _id: this.checked(id), ...of });
  }
}
