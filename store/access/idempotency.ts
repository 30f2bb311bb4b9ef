import { createHash } from 'node:crypto';
import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { encryptedField, instant } from '../../model/fields.ts';
import { LIMITS } from '../../model/limits.ts';
import { repositoryOf } from '../repository/repository.ts';

const storedAnswer = z.object({
  status: z.int(),
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
  body: z.string().describe('JSON text'),
});
/** HTTP answer that is replayed to repeated requests. */
export type StoredAnswer = z.infer<typeof storedAnswer>;

const storedClaim = z.object({
  bodyDigest: encryptedField(z.string()),
  subjectId: z.string(),
  memberId: z.string().nullable(),
  isFinal: z.boolean(),
  expiresAt: instant,
  answer: encryptedField(storedAnswer).nullable(),
});
type StoredClaim = z.infer<typeof storedClaim>;

/** Owner and key: the same Idempotency-Key of two API keys is two slots. */
interface IdempotencySlot {
  apiKeyId: string;
  key: string;
}

export interface Claim extends IdempotencySlot {
  /** Digest of method, path and body. */
  bodyDigest: string;
  /** Id of the sandbox or command that this request creates if it is the first. */
  subjectId: string;
}

/** `fresh`: first request with this key. Otherwise the first request's id, answer if complete, and outcome. */
export type ClaimResult =
  | { fresh: true }
  | { fresh: false; subjectId: string; answer: StoredAnswer | null; outcome: Outcome };

/** Outcome of a request: a resource with its own id, or a claimed pool member. */
export interface Outcome {
  /** Pool member that it is claiming or has claimed; null for none. */
  memberId: string | null;
  /** True when it never changes again. */
  isFinal: boolean;
}

const RETENTION_MS = LIMITS.idempotencyHours * 3_600_000;

/** Idempotency keys; the unique `_id` decides which request is first. Entries expire after 24 h. */
export class Idempotency extends repositoryOf({ collection: 'idempotency', noun: 'a request', model: storedClaim }) {
  /** @throws MayflyError idempotency_key_reused when the key came with another body */
  async claim(claim: Claim): Promise<ClaimResult> {
    const { bodyDigest, subjectId } = claim;
    const expiresAt = new Date(Date.now() + RETENTION_MS).toISOString();
    const _id = slotId(claim);
    const outcome = { memberId: null, isFinal: false };
    for (;;) {
      if (await this.insert({ _id, bodyDigest, subjectId, ...outcome, expiresAt, answer: null }))
        return { fresh: true };
      const first = await this.findById(_id);
      if (!first) continue;
      if (first.expiresAt <= new Date().toISOString()) await this.deleteOne({ _id, subjectId: first.subjectId });
      else return toRepeatedClaim(first, bodyDigest);
    }
  }

  /** Stores the answer for repetitions. */
  async complete(slot: IdempotencySlot, answer: StoredAnswer): Promise<void> {
    await this.set({ _id: slotId(slot) }, { answer });
  }

  /**
   * Changes the outcome of a request, unless another request with its key has changed it since it was read.
   * @param ownId `subjectId` of the first
   * @returns false when another has changed it
   */
  async setOutcome(slot: IdempotencySlot, ownId: string, from: Outcome, to: Outcome): Promise<boolean> {
    const { memberId, isFinal } = from;
    return this.set({ _id: slotId(slot), subjectId: ownId, memberId, isFinal }, to);
  }

  /** Returns the outcome of a request. For an unknown request it is a resource with its own id. */
  async getOutcome(slot: IdempotencySlot): Promise<Outcome> {
    return outcomeOf(await this.findById(slotId(slot)));
  }

  /** Releases the key of a request that was refused before it created anything. A newer claim of the key stays. */
  async release(claim: Claim): Promise<void> {
    await this.deleteOne({ _id: slotId(claim), subjectId: claim.subjectId });
  }

  /** Removes expired entries. @returns number removed */
  prune(): Promise<number> {
    return this.deleteAll({ expiresAt: { $lte: new Date().toISOString() } });
  }
}

/** Hashes the key, which is any text of the caller's; a key id contains no line break. */
function slotId({ apiKeyId, key }: IdempotencySlot): string {
  return createHash('sha256').update(`${apiKeyId}\n${key}`).digest('hex');
}

function outcomeOf(document: StoredClaim | null): Outcome {
  return { memberId: document?.memberId ?? null, isFinal: document?.isFinal ?? true };
}

function toRepeatedClaim(first: StoredClaim, bodyDigest: string): ClaimResult {
  if (first.bodyDigest === bodyDigest)
    return { fresh: false, subjectId: first.subjectId, answer: first.answer, outcome: outcomeOf(first) };
  throw new MayflyError('idempotency_key_reused', 'This Idempotency-Key was used within 24 h with another request.', {
    fields: [{ field: 'Idempotency-Key', problem: 'was used with another method, path or body' }],
  });
}
