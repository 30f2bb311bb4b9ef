import { instant, optional } from '../../model/fields.ts';
import { isDeliveryId } from '../../model/ids.ts';
import { type DeliveryRecord, type DeliveryState, deliveryRecord } from '../../model/webhooks/delivery.ts';
import { recordRepositoryOf } from '../repository/repository.ts';
import type { Page, PageQuery } from '../sealed/page-cursor.ts';

interface DeliveryQuery extends Omit<PageQuery, 'project'> {
  endpointId: string;
  state?: DeliveryState | undefined;
}

type Changes = Partial<Pick<DeliveryRecord, Changed>>;
type Changed = 'state' | 'failure' | 'attempts' | 'tries' | 'dueAt' | 'sendingSince' | 'endedAt';

const DAY_MS = 86_400_000;
const RETENTION_DAYS = 30;

/** Deliveries of events to endpoints, one document for each pair. */
export class WebhookDeliveries extends recordRepositoryOf({
  collection: 'webhookDeliveries',
  noun: 'a delivery',
  isId: isDeliveryId,
  model: deliveryRecord,
  /** `wakeAt`: while pending, time of the next check that its workflow runs. */
  internal: { wakeAt: optional(instant), removeAfter: instant },
}) {
  /** @param wakeAt ISO 8601 @returns false when that id exists */
  async create(delivery: DeliveryRecord, wakeAt: string): Promise<boolean> {
    const removeAfter = new Date(Date.parse(delivery.createdAt) + RETENTION_DAYS * DAY_MS).toISOString();
    return this.insertRecord(delivery, { removeAfter, ...(delivery.state === 'pending' && { wakeAt }) });
  }

  /** Returns one page of the deliveries to an endpoint, newest first. */
  list({ endpointId, state, ...query }: DeliveryQuery): Promise<Page<DeliveryRecord>> {
    return this.page({ endpointId, ...(state !== undefined && { state }) }, query, 'createdAt');
  }

  /** Records the start of an attempt. @returns false when another has started, or the delivery has changed */
  async begin({ id, dueAt, sendingSince }: DeliveryRecord, at: string, wakeAt: string): Promise<boolean> {
    return this.set({ _id: id, state: 'pending', dueAt, sendingSince }, { sendingSince: at, wakeAt });
  }

  /**
   * Records the result of the attempt that started then.
   * @param wakeAt null: no further check @returns false when another has started since
   */
  async settle(id: string, sendingSince: string, changes: Changes, wakeAt: string | null): Promise<boolean> {
    const set = { ...changes, sendingSince: null, ...(wakeAt !== null && { wakeAt }) };
    return this.set({ _id: this.checked(id), sendingSince }, set, wakeAt === null ? ['wakeAt'] : []);
  }

  /** Ends pending deliveries to a disabled endpoint; an attempt under way ends its own. @param id only this delivery */
  async giveUp(endpointId: string, failure: DeliveryRecord['failure'], at: string, id?: string): Promise<void> {
    const which = id === undefined ? { sendingSince: null } : { _id: id };
    const of = { endpointId, state: 'pending', ...which } as const;
    const set = { state: 'failed', failure, dueAt: null, endedAt: at } as const;
    await this.model.updateMany(of, { $set: set, $unset: { wakeAt: 1 } });
  }

  /** Requests a delivery again, now. @returns false when there is none */
  async again(id: string, at: string): Promise<boolean> {
    return this.set({ _id: this.checked(id) }, redeliveryFields(at));
  }

  /** Requests failed deliveries again. @param since earliest creation, ISO 8601 @returns number requested */
  async recover(endpointId: string, since: string, at: string): Promise<number> {
    const lost = { endpointId, state: 'failed', createdAt: { $gte: since } } as const;
    return (await this.model.updateMany(lost, { $set: redeliveryFields(at) })).matchedCount;
  }

  /** Returns the deliveries to check by now. */
  async toWake(now: string, limit: number): Promise<{ id: string; wakeAt: string }[]> {
    const selection = { sort: { wakeAt: 1 }, limit, only: { wakeAt: 1 } } as const;
    const found = await this.documents({ wakeAt: { $lte: now, $gt: '' } }, selection);
    return found.map(({ _id, wakeAt = '' }) => ({ id: _id, wakeAt }));
  }

  /** Sets the time of the next check. */
  async woken({ id, wakeAt }: { id: string; wakeAt: string }, next: string): Promise<void> {
    await this.set({ _id: id, wakeAt }, { wakeAt: next });
  }

  /** Removes ended deliveries after their retention. */
  prune(): Promise<number> {
    const past = { removeAfter: { $lt: new Date().toISOString() }, state: { $in: ['delivered', 'failed'] } };
    return this.deleteAll(past);
  }

  async removeOf(endpointId: string): Promise<void> {
    await this.deleteAll({ endpointId });
  }
}

function redeliveryFields(at: string) {
  return { state: 'pending', failure: null, tries: 0, askedAt: at, dueAt: at, endedAt: null, wakeAt: at } as const;
}
