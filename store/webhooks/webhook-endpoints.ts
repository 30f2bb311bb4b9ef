import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isEndpointId } from '../../model/ids.ts';
import {
  DISABLED_FOR,
  type DisabledFor,
  type EndpointRecord,
  WEBHOOK_FORMATS,
  WEBHOOK_SIGNATURES,
} from '../../model/webhooks/endpoint.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_TEXT, NUMBER, SEALED, strictSchema, TEXT } from '../mongo/schema.ts';
import type { SealedFields, Unreadable } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

export type EndpointChanges = Partial<Omit<EndpointRecord, 'id' | 'project' | 'createdBy' | 'createdAt'>>;

type EndpointDocument = Omit<EndpointRecord, 'id'> & {
  _id: string;
  /** When it was disabled by itself, as long as nobody was told of that. ISO 8601. */
  untoldDisabling?: string;
};

/** Where events are sent to, one document each. */
export class WebhookEndpoints {
  readonly #model: Model<EndpointDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('webhookEndpoints');
    const schema = strictSchema<EndpointDocument>({
      _id: NAME,
      project: NAME,
      url: SEALED,
      types: [String],
      format: { type: String, required: true, enum: WEBHOOK_FORMATS },
      signature: { type: String, required: true, enum: WEBHOOK_SIGNATURES },
      secrets: SEALED,
      disabledAt: NULLABLE_TEXT,
      disabledFor: { type: String, default: null, enum: [...DISABLED_FOR, null] },
      failingSince: NULLABLE_TEXT,
      slowUntil: NULLABLE_TEXT,
      slowed: NUMBER,
      createdBy: { type: actorPart(), required: true },
      createdAt: NAME,
      updatedAt: NAME,
      untoldDisabling: TEXT,
    });
    this.#model = connection.model<EndpointDocument>('WebhookEndpoint', schema, 'webhookEndpoints');
  }

  /** @returns false: there is one of that id */
  async create({ id, ...endpoint }: EndpointRecord): Promise<boolean> {
    checkId(id);
    try {
      const document = { ...this.#fields.sealed(id, endpoint), _id: id };
      await reaching('record an endpoint', () => this.#model.create(document));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async get(id: string): Promise<EndpointRecord | null> {
    checkId(id);
    const found = await reaching('read an endpoint', () => this.#model.findById(id).lean<EndpointDocument>());
    return found && this.#record(found);
  }

  /** Those of a project, the oldest first. @param unreadable takes those that cannot be read */
  async list(project: string, unreadable?: Unreadable[]): Promise<EndpointRecord[]> {
    const found = await reaching('list endpoints', () => this.#model.find({ project }).lean<EndpointDocument[]>());
    const order = ({ createdAt, id }: EndpointRecord) => `${createdAt} ${id}`;
    return this.#fields.records(found, recordOf, unreadable).sort((a, b) => (order(a) < order(b) ? -1 : 1));
  }

  /** @param of what holds of it now @returns false: there is none, or that does not hold */
  async change(
    id: string,
    changes: EndpointChanges,
    of: Partial<Pick<EndpointRecord, 'disabledAt' | 'failingSince' | 'slowed' | 'updatedAt'>> = {},
  ): Promise<boolean> {
    checkId(id);
    return this.#update({ _id: id, ...of }, { $set: this.#fields.sealed(id, changes) });
  }

  /** Has nothing more sent to one; that is to be told. @returns false: nothing was */
  async disable(id: string, disabledFor: DisabledFor, disabledAt: string): Promise<boolean> {
    checkId(id);
    const set = { disabledAt, disabledFor, updatedAt: disabledAt, untoldDisabling: disabledAt };
    return this.#update({ _id: id, disabledAt: null }, { $set: set });
  }

  /** Those that were disabled by themselves, and nobody was told. */
  async untold(): Promise<EndpointRecord[]> {
    const found = await reaching('look for endpoints that were disabled', () =>
      this.#model.find({ untoldDisabling: { $gt: '' } }).lean<EndpointDocument[]>(),
    );
    return this.#fields.records(found, recordOf);
  }

  /** Those who are to know were told. */
  async told({ id, disabledAt }: EndpointRecord): Promise<void> {
    await this.#update({ _id: id, untoldDisabling: disabledAt ?? '' }, { $unset: { untoldDisabling: 1 } });
  }

  /** Also one that cannot be read. @param of what holds of it @returns whether there was one */
  async remove(id: string, of: Partial<Pick<EndpointRecord, 'project'>> = {}): Promise<boolean> {
    checkId(id);
    return reaching(
      'remove an endpoint',
      async () => (await this.#model.deleteOne({ _id: id, ...of })).deletedCount > 0,
    );
  }

  async #update(filter: Record<string, unknown>, update: Record<string, unknown>): Promise<boolean> {
    const { matchedCount } = await reaching('change an endpoint', () =>
      this.#model.updateOne(filter, update, { runValidators: true }),
    );
    return matchedCount > 0;
  }

  #record(document: EndpointDocument): EndpointRecord {
    return recordOf(this.#fields.opened(document));
  }
}

/** @param document opened */
function recordOf({ _id, untoldDisabling: _untold, ...endpoint }: EndpointDocument): EndpointRecord {
  return { id: _id, ...endpoint };
}

/** @throws MayflyError invalid_id */
function checkId(id: string): void {
  if (typeof id !== 'string' || !isEndpointId(id)) {
    throw new MayflyError('invalid_id', 'That is not the id of a webhook endpoint.');
  }
}
