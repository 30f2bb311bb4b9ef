import { createHash } from 'node:crypto';
import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, NULLABLE_TEXT, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** An HTTP answer as it is given again. */
export interface StoredAnswer {
  status: number;
  headers: { name: string; value: string }[];
  /** JSON text. */
  body: string;
}

/** Whose key: the same Idempotency-Key of two API keys are two. */
export interface IdempotencySlot {
  apiKeyId: string;
  key: string;
}

export interface Claim extends IdempotencySlot {
  /** Digest of method, path and body. */
  bodyDigest: string;
  /** What this request shall make: the id of a sandbox or of a command, should it be the first. */
  subjectId: string;
}

/** `fresh`: nobody asked before. Otherwise what the first request made, and its answer when it has one. */
export type Claimed = { fresh: true } | ({ fresh: false; subjectId: string; answer: StoredAnswer | null } & Lead);

/** What else than what has its own id a request may come to. */
export interface Lead {
  /** The member of a pool that it is claiming, or has claimed; null: none. */
  memberId: string | null;
  /** It makes what has its own id, and nothing else any more. */
  isFixed: boolean;
}

interface IdempotencyDocument extends Partial<Lead> {
  _id: string;
  bodyDigest: string;
  subjectId: string;
  /** ISO 8601. */
  expiresAt: string;
  answer: StoredAnswer | null;
}

const KEPT_MS = LIMITS.idempotencyHours * 3_600_000;

/** Who was first with an Idempotency-Key, settled by the unique `_id`; entries are gone after 24 h. */
export class Idempotency {
  readonly #model: Model<IdempotencyDocument>;
  readonly #fields: SealedFields;
  readonly #now: () => number;

  constructor(connection: Connection, sealing: Sealing, now: () => number = Date.now) {
    this.#fields = sealing.of('idempotency');
    const schema = strictSchema<IdempotencyDocument>({
      _id: NAME,
      bodyDigest: SEALED,
      subjectId: NAME,
      memberId: NULLABLE_TEXT,
      isFixed: { type: Boolean, default: undefined },
      expiresAt: NAME,
      answer: SEALED,
    });
    this.#model = connection.model<IdempotencyDocument>('Idempotency', schema, 'idempotency');
    this.#now = now;
  }

  /** @throws MayflyError idempotency_key_reused when the key came with another body */
  async claim(claim: Claim): Promise<Claimed> {
    const { bodyDigest, subjectId } = claim;
    const expiresAt = new Date(this.#now() + KEPT_MS).toISOString();
    const _id = slotId(claim);
    const document = this.#fields.sealed(_id, {
      _id,
      bodyDigest,
      subjectId,
      memberId: null,
      isFixed: false,
      expiresAt,
      answer: null,
    });
    for (;;) {
      try {
        await reaching('claim an idempotency key', () => this.#model.create(document));
        return { fresh: true };
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
      const first = await this.#get(_id);
      if (!first) continue;
      if (this.#isPast(first)) await this.#remove(first);
      else return repeated(first, bodyDigest);
    }
  }

  /** Keeps the answer for repetitions. */
  async complete(slot: IdempotencySlot, answer: StoredAnswer): Promise<void> {
    const _id = slotId(slot);
    const kept = this.#fields.sealed(_id, { answer });
    await reaching('keep an answer', () => this.#model.updateOne({ _id }, { $set: kept }));
  }

  /**
   * Changes what the request comes to, unless somebody else has since it was read: of two that ask at once with one key, both
   * go the same way.
   * @param ownId the `subjectId` of the first
   */
  async lead(slot: IdempotencySlot, ownId: string, from: Lead, to: Lead): Promise<boolean> {
    const { memberId, isFixed } = from;
    const as = { _id: slotId(slot), subjectId: ownId, memberId, isFixed };
    const changed = await reaching('lead a request', () => this.#model.updateOne(as, { $set: to }));
    return changed.matchedCount > 0;
  }

  /** What the request comes to now. One that nobody has heard of makes what has its own id. */
  async ledTo(slot: IdempotencySlot): Promise<Lead> {
    return leadOf(await this.#get(slotId(slot)));
  }

  /** Gives the key free again: its first request was refused before anything was made. */
  async release(claim: Claim): Promise<void> {
    await this.#remove({ _id: slotId(claim), subjectId: claim.subjectId });
  }

  /** Removes entries older than 24 h, and says how many they were. */
  async prune(): Promise<number> {
    const past = { expiresAt: { $lte: this.#nowText() } };
    return reaching('prune idempotency keys', async () => (await this.#model.deleteMany(past)).deletedCount);
  }

  #isPast({ expiresAt }: IdempotencyDocument): boolean {
    return expiresAt <= this.#nowText();
  }

  #nowText(): string {
    return new Date(this.#now()).toISOString();
  }

  async #get(id: string): Promise<IdempotencyDocument | null> {
    const found = await reaching('read an idempotency key', () => this.#model.findById(id).lean<IdempotencyDocument>());
    return found && this.#fields.opened(found);
  }

  /** Only that very claim: whoever claimed the slot since then keeps it. */
  async #remove({ _id, subjectId }: Pick<IdempotencyDocument, '_id' | 'subjectId'>): Promise<void> {
    await reaching('free an idempotency key', () => this.#model.deleteOne({ _id, subjectId }));
  }
}

/** The key is any text of the caller's, so it is hashed; a key id contains no line break. */
function slotId({ apiKeyId, key }: IdempotencySlot): string {
  return createHash('sha256').update(`${apiKeyId}\n${key}`).digest('hex');
}

function leadOf(document: IdempotencyDocument | null): Lead {
  return { memberId: document?.memberId ?? null, isFixed: document?.isFixed ?? true };
}

function repeated(first: IdempotencyDocument, bodyDigest: string): Claimed {
  if (first.bodyDigest === bodyDigest)
    return { fresh: false, subjectId: first.subjectId, answer: first.answer, ...leadOf(first) };
  throw new MayflyError('idempotency_key_reused', 'This Idempotency-Key was used within 24 h with another request.', {
    fields: [{ field: 'Idempotency-Key', problem: 'was used with another method, path or body' }],
  });
}
