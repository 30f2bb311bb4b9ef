import { createHash } from 'node:crypto';
import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { encrypted, instant } from '../../model/fields.ts';
import { LIMITS } from '../../model/limits.ts';
import { repositoryOf } from '../repository/repository.ts';

const storedAnswer = z.object({
  status: z.int(),
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
  body: z.string().describe('JSON text'),
});
/** An HTTP answer as it is given again. */
export type StoredAnswer = z.infer<typeof storedAnswer>;

const storedClaim = z.object({
  bodyDigest: encrypted(z.string()),
  subjectId: z.string(),
  memberId: z.string().nullable(),
  isFinal: z.boolean(),
  expiresAt: instant,
  answer: encrypted(storedAnswer).nullable(),
});
type StoredClaim = z.infer<typeof storedClaim>;

/** Whose key: the same Idempotency-Key of two API keys are two. */
interface IdempotencySlot {
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
export type Claimed =
  | { fresh: true }
  | { fresh: false; subjectId: string; answer: StoredAnswer | null; outcome: Outcome };

/** Outcome of a request: what has its own id, or a member of a pool. */
export interface Outcome {
  /** The member of a pool that it is claiming, or has claimed; null: none. */
  memberId: string | null;
  /** It never changes again. */
  isFinal: boolean;
}

const KEPT_MS = LIMITS.idempotencyHours * 3_600_000;

/** Who was first with an Idempotency-Key, settled by the unique `_id`; entries are gone after 24 h. */
export class Idempotency extends repositoryOf({ collection: 'idempotency', noun: 'a request', model: storedClaim }) {
  /** @throws MayflyError idempotency_key_reused when the key came with another body */
  async claim(claim: Claim): Promise<Claimed> {
    const { bodyDigest, subjectId } = claim;
    const expiresAt = new Date(Date.now() + KEPT_MS).toISOString();
    const _id = slotId(claim);
    const outcome = { memberId: null, isFinal: false };
    for (;;) {
      if (await this.insert({ _id, bodyDigest, subjectId, ...outcome, expiresAt, answer: null }))
        return { fresh: true };
      const first = await this.findById(_id);
      if (!first) continue;
      if (first.expiresAt <= new Date().toISOString()) await this.deleteOne({ _id, subjectId: first.subjectId });
      else return repeated(first, bodyDigest);
    }
  }

  /** Keeps the answer for repetitions. */
  async complete(slot: IdempotencySlot, answer: StoredAnswer): Promise<void> {
    await this.set({ _id: slotId(slot) }, { answer });
  }

  /**
   * Changes the outcome of a request, unless another request with its key has changed it since it was read: both have the
   * same one.
   * @returns false: another has
   * @param ownId the `subjectId` of the first
   */
  async setOutcome(slot: IdempotencySlot, ownId: string, from: Outcome, to: Outcome): Promise<boolean> {
    const { memberId, isFinal } = from;
    return this.set({ _id: slotId(slot), subjectId: ownId, memberId, isFinal }, to);
  }

  /** Returns the present outcome of a request. An unknown one makes what has its own id. */
  async getOutcome(slot: IdempotencySlot): Promise<Outcome> {
    return outcomeOf(await this.findById(slotId(slot)));
  }

  /** Gives the key free again: its first request was refused before anything was made. Whoever claimed it since keeps it. */
  async release(claim: Claim): Promise<void> {
    await this.deleteOne({ _id: slotId(claim), subjectId: claim.subjectId });
  }

  /** Removes entries older than 24 h, and says how many they were. */
  prune(): Promise<number> {
    return this.deleteAll({ expiresAt: { $lte: new Date().toISOString() } });
  }
}

/** The key is any text of the caller's, so it is hashed; a key id contains no line break. */
function slotId({ apiKeyId, key }: IdempotencySlot): string {
  return createHash('sha256').update(`${apiKeyId}\n${key}`).digest('hex');
}

function outcomeOf(document: StoredClaim | null): Outcome {
  return { memberId: document?.memberId ?? null, isFinal: document?.isFinal ?? true };
}

function repeated(first: StoredClaim, bodyDigest: string): Claimed {
  if (first.bodyDigest === bodyDigest)
    return { fresh: false, subjectId: first.subjectId, answer: first.answer, outcome: outcomeOf(first) };
  throw new MayflyError('idempotency_key_reused', 'This Idempotency-Key was used within 24 h with another request.', {
    fields: [{ field: 'Idempotency-Key', problem: 'was used with another method, path or body' }],
  });
}
