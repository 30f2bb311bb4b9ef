import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isDeliveryId } from '../../model/ids.ts';
import { DELIVERY_STATES, type DeliveryRecord, type DeliveryState } from '../../model/webhooks/delivery.ts';
import { WEBHOOK_FORMATS } from '../../model/webhooks/endpoint.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, NULLABLE_TEXT, NUMBER, SEALED, strictSchema, TEXT } from '../mongo/schema.ts';
import { olderThan, type Page, type PageQuery, pageOf } from '../sealed/page-cursor.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

export interface DeliveryQuery extends Omit<PageQuery, 'project'> {
  endpointId: string;
  state?: DeliveryState | undefined;
}

type Changes = Partial<Pick<DeliveryRecord, Changed>>;
type Changed = 'state' | 'failure' | 'attempts' | 'tries' | 'dueAt' | 'sendingSince' | 'endedAt';
type DeliveryDocument = Omit<DeliveryRecord, 'id'> & {
  _id: string;
  /** As long as it is pending: when it is looked whether its workflow goes on with it. ISO 8601. */
  wakeAt?: string;
  /** ISO 8601. */
  removeAfter: string;
};

const DAY_MS = 86_400_000;
const KEPT_DAYS = 30;

/** What is sent of events to endpoints, one document for each of both. */
export class WebhookDeliveries {
  readonly #model: Model<DeliveryDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('webhookDeliveries');
    const schema = strictSchema<DeliveryDocument>({
      _id: NAME,
      project: NAME,
      endpointId: NAME,
      eventId: NAME,
      type: NAME,
      format: { type: String, required: true, enum: WEBHOOK_FORMATS },
      body: SEALED,
      state: { type: String, required: true, enum: DELIVERY_STATES },
      failure: NULLABLE_TEXT,
      attempts: SEALED,
      tries: NUMBER,
      askedAt: NAME,
      dueAt: NULLABLE_TEXT,
      sendingSince: NULLABLE_TEXT,
      createdAt: NAME,
      endedAt: NULLABLE_TEXT,
      wakeAt: TEXT,
      removeAfter: NAME,
    });
    this.#model = connection.model<DeliveryDocument>('WebhookDelivery', schema, 'webhookDeliveries');
  }

  /** @param wakeAt ISO 8601 @returns false: there is one of that id */
  async create({ id, ...delivery }: DeliveryRecord, wakeAt: string): Promise<boolean> {
    checkId(id);
    const removeAfter = new Date(Date.parse(delivery.createdAt) + KEPT_DAYS * DAY_MS).toISOString();
    const waking = delivery.state === 'pending' ? { wakeAt } : {};
    try {
      const document = { ...this.#fields.sealed(id, delivery), _id: id, removeAfter, ...waking };
      await reaching('record a delivery', () => this.#model.create(document));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async get(id: string): Promise<DeliveryRecord | null> {
    checkId(id);
    const found = await reaching('read a delivery', () => this.#model.findById(id).lean<DeliveryDocument>());
    return found && this.#record(found);
  }

  /**
   * One page of those to an endpoint, newest first.
   * @throws MayflyError invalid_request when the cursor is not one of ours
   */
  async list({ limit, cursor, endpointId, state }: DeliveryQuery): Promise<Page<DeliveryRecord>> {
    const of = { endpointId, ...(state !== undefined && { state }) };
    const found = await reaching('list deliveries', () =>
      this.#model
        .find({ ...of, ...olderThan(cursor, 'createdAt', isDeliveryId) })
        .sort({ createdAt: -1, _id: -1 })
        .limit(limit + 1)
        .lean<DeliveryDocument[]>(),
    );
    return pageOf(this.#fields, found, { limit, at: ({ createdAt }) => createdAt, recordOf });
  }

  /** Says that an attempt begins. @returns false: somebody else has begun one, or nothing is to be sent now */
  async begin({ id, dueAt, sendingSince }: DeliveryRecord, at: string, wakeAt: string): Promise<boolean> {
    const seen = { _id: id, state: 'pending', dueAt, sendingSince } as const;
    return this.#update(seen, { $set: { sendingSince: at, wakeAt } });
  }

  /**
   * Writes down what came of the attempt that began then.
   * @param wakeAt null: it is not to be looked at any more @returns false: another has begun since
   */
  async settle(id: string, sendingSince: string, changes: Changes, wakeAt: string | null): Promise<boolean> {
    checkId(id);
    const set = { ...this.#fields.sealed(id, changes), sendingSince: null, ...(wakeAt !== null && { wakeAt }) };
    return this.#update({ _id: id, sendingSince }, { $set: set, ...(wakeAt === null && { $unset: { wakeAt: 1 } }) });
  }

  /** Ends what is sent to an endpoint that is disabled; what is under way says so by itself. @param id of one alone */
  async giveUp(endpointId: string, failure: DeliveryRecord['failure'], at: string, id?: string): Promise<void> {
    const which = id === undefined ? { sendingSince: null } : { _id: id };
    const of = { endpointId, state: 'pending', ...which } as const;
    const set = { state: 'failed', failure, dueAt: null, endedAt: at } as const;
    await reaching('end deliveries', () => this.#model.updateMany(of, { $set: set, $unset: { wakeAt: 1 } }));
  }

  /** Has one sent again, now. @returns false: there is none */
  async again(id: string, at: string): Promise<boolean> {
    checkId(id);
    return this.#update({ _id: id }, { $set: askedAgain(at) });
  }

  /** Has those sent again that were given up. @param since made then or later, ISO 8601 @returns how many */
  async recover(endpointId: string, since: string, at: string): Promise<number> {
    const lost = { endpointId, state: 'failed', createdAt: { $gte: since } } as const;
    return reaching('recover deliveries', async () => {
      return (await this.#model.updateMany(lost, { $set: askedAgain(at) })).matchedCount;
    });
  }

  /** Those that are to be looked at by now. */
  async toWake(now: string, limit: number): Promise<{ id: string; wakeAt: string }[]> {
    const found = await reaching('look for deliveries', () =>
      this.#model
        .find({ wakeAt: { $lte: now, $gt: '' } }, { wakeAt: 1 })
        .sort({ wakeAt: 1 })
        .limit(limit)
        .lean<Pick<DeliveryDocument, '_id' | 'wakeAt'>[]>(),
    );
    return found.map(({ _id, wakeAt = '' }) => ({ id: _id, wakeAt }));
  }

  /** It was looked at; again then. */
  async woken({ id, wakeAt }: { id: string; wakeAt: string }, next: string): Promise<void> {
    await this.#update({ _id: id, wakeAt }, { $set: { wakeAt: next } });
  }

  /** Removes those that are to be kept no longer. */
  async prune(): Promise<number> {
    const past = { removeAfter: { $lt: new Date().toISOString() }, state: { $in: ['delivered', 'failed'] } } as const;
    return reaching('remove deliveries', async () => (await this.#model.deleteMany(past)).deletedCount);
  }

  /** Removes all of an endpoint. */
  async removeOf(endpointId: string): Promise<void> {
    await reaching('remove the deliveries of an endpoint', () => this.#model.deleteMany({ endpointId }));
  }

  async #update(filter: Record<string, unknown>, update: Record<string, unknown>): Promise<boolean> {
    const { matchedCount } = await reaching('change a delivery', () =>
      this.#model.updateOne(filter, update, { runValidators: true }),
    );
    return matchedCount > 0;
  }

  #record(document: DeliveryDocument): DeliveryRecord {
    return recordOf(this.#fields.opened(document));
  }
}

/** @param document opened */
function recordOf({ _id, wakeAt: _wake, removeAfter: _remove, ...delivery }: DeliveryDocument): DeliveryRecord {
  return { id: _id, ...delivery };
}

function askedAgain(at: string) {
  return { state: 'pending', failure: null, tries: 0, askedAt: at, dueAt: at, endedAt: null, wakeAt: at } as const;
}

/** @throws MayflyError invalid_id */
function checkId(id: string): void {
  if (typeof id !== 'string' || !isDeliveryId(id)) {
    throw new MayflyError('invalid_id', 'That is not the id of a delivery.');
  }
}
