import { createHash, randomBytes } from 'node:crypto';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { CountRule } from '../../model/approvals/policy.ts';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { ID_BYTES } from '../../model/ids.ts';
import type { Claim, Claimed, Lead, StoredAnswer } from '../../store/access/idempotency.ts';
import { canonicalJson } from '../../store/audit/canonical-json.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import type { Env } from './context.ts';
import { problemResponse } from './problem.ts';

/** Says that an answer was given before. */
export const REPLAYED = 'Idempotent-Replayed';
/** Headers that belong to an answer wherever it is given again. */
const KEPT_HEADERS = ['Content-Type', 'Location', 'Preference-Applied'];

/** Of a request that is the first of its key. */
const UNLED: Lead = { memberId: null, isFixed: false };

/** What is asked for. */
export interface Asked {
  /** Makes an id of what the request makes out of random bytes. */
  idFrom: (random: Uint8Array) => string;
  /** The Idempotency-Key: with the same one, the same method, path and body are the same request. */
  key: string | undefined;
  body: unknown;
  /** How the id is said when nobody can say whether it was begun. */
  subject?: Subject;
}

/** Where what has the id is, and the member of a problem that has it. */
export interface Subject {
  path: string;
  member: 'sandboxId' | 'commandId' | 'snapshotId' | 'captureId';
}

export const SANDBOX: Subject = { path: '/v1/sandboxes', member: 'sandboxId' };

export interface Answer {
  response: Response;
  /** Given again to whoever asks again with the same key; else that request is answered anew. */
  isKept: boolean;
}

/** One request that makes something: the id of that, and whether it is the first of its key. */
export interface Attempt {
  subjectId: string;
  isFresh: boolean;
  /** What else it may come to, as far as is known here. */
  lead: Lead;
  /** By which it may be done, where it needs one. */
  approvalId: string | null;
  /** Null without an Idempotency-Key. */
  claim: Claim | null;
  /** How many sandboxes the policy lets its project have, when they are counted. `@default` any number */
  countRule?: CountRule | undefined;
}

/**
 * Answers a request, and answers it again in the same words when it comes again with the same Idempotency-Key.
 * @param answer begins what is asked for, or joins what an earlier attempt began: both have the same `subjectId`
 * @throws MayflyError idempotency_key_reused, and what `answer` throws
 */
export async function answerOnce(
  c: Context<Env>,
  store: ProjectStore,
  asked: Asked,
  answer: (attempt: Attempt) => Promise<Answer>,
): Promise<Response> {
  const freshId = asked.idFrom(randomBytes(ID_BYTES));
  const claim = claimOf(c, asked, freshId);
  const claimed: Claimed = claim ? await store.idempotency.claim(claim) : { fresh: true };
  if (!claimed.fresh && claimed.answer) return repeatAnswer(c, claimed.answer);
  const subjectId = claimed.fresh ? freshId : claimed.subjectId;
  const lead: Lead = claimed.fresh ? UNLED : { memberId: claimed.memberId, isFixed: claimed.isFixed };
  const attempt: Attempt = { subjectId, isFresh: claimed.fresh, claim, lead, approvalId: null };
  try {
    const { response, isKept } = await answer(attempt);
    if (isKept && claim) await keepAnswer(store, claim, response);
    return response;
  } catch (error) {
    if (!isUncertain(error) || !asked.subject) throw error;
    return uncertainAnswer(c, error, attempt.lead.memberId ?? subjectId, asked.subject);
  }
}

/** The store may be away after something was begun as well as before. */
function isUncertain(error: unknown): error is MayflyError {
  if (!(error instanceof MayflyError)) return false;
  const { mayHaveBegun = error.code === 'store_unavailable' } = error.options;
  return mayHaveBegun;
}

/** Says the id: who asks again without an Idempotency-Key would get another one of it, and know nothing of the first. */
function uncertainAnswer(c: Context<Env>, error: MayflyError, id: string, { path, member }: Subject): Response {
  const location = `${path}/${id}`;
  c.header('Location', location);
  const detail = `${error.message} It may have begun nevertheless, as ${location}: look there before asking for another.`;
  return problemResponse(c, new MayflyError(error.code, detail, { ...error.options, cause: error }), { [member]: id });
}

/** Whether the answer to this request is heard. Who has left may ask again, and wait for the end still. */
export function isHeard(c: Context<Env>): boolean {
  return !c.req.raw.signal.aborted;
}

/** The id of one more thing that a request makes; the same request, the same id. */
export function furtherId(idFrom: (random: Uint8Array) => string, subjectId: string, what: string): string {
  return idFrom(createHash('sha256').update(`${subjectId}/${what}`).digest().subarray(0, ID_BYTES));
}

/**
 * Runs what may refuse a request before anything is made, which frees its key. It stays taken when Temporal was away:
 * the wish may have arrived nevertheless.
 */
export async function freedWhenRefused<T>(store: ProjectStore, attempt: Attempt, begin: () => Promise<T>): Promise<T> {
  try {
    return await begin();
  } catch (error) {
    const isAway = isMayflyError(error, 'temporal_unavailable');
    if (attempt.isFresh && !isAway) await freeRequest(store, attempt);
    if (!isMayflyError(error, 'store_unavailable')) throw error;
    throw new MayflyError(error.code, error.message, { ...error.options, cause: error, mayHaveBegun: false });
  }
}

/** Gives back what a request has taken of which nothing was made: its approval, then its key. */
export async function freeRequest(store: ProjectStore, { claim, approvalId, subjectId }: Attempt): Promise<void> {
  if (!claim) return;
  const unused = { state: 'approved', usedAt: null, usedFor: null } as const;
  if (approvalId !== null) await store.approvals.change(approvalId, { state: 'used', usedFor: subjectId }, unused);
  await store.idempotency.release({ ...claim, subjectId });
}

/** Keeps the answer for whoever asks again with the same key. */
async function keepAnswer(store: ProjectStore, claim: Claim, response: Response): Promise<void> {
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [{ name, value }];
  });
  try {
    await store.idempotency.complete(claim, { status: response.status, headers, body: await response.clone().text() });
  } catch (error) {
    // What was asked for is done; the same request again is answered by looking at it.
    if (!isMayflyError(error, 'store_unavailable')) throw error;
  }
}

function claimOf(c: Context<Env>, { key, body }: Asked, subjectId: string): Claim | null {
  if (key === undefined) return null;
  const content = canonicalJson([c.req.method, c.get('pathById') ?? c.req.path, body]);
  const bodyDigest = createHash('sha256').update(content).digest('hex');
  return { apiKeyId: c.get('apiKey').id, key, bodyDigest, subjectId };
}

/** The same answer again, said to be so. */
function repeatAnswer(c: Context<Env>, answer: StoredAnswer): Response {
  const headers = Object.fromEntries(answer.headers.map(({ name, value }) => [name, value]));
  return c.body(answer.body, answer.status as ContentfulStatusCode, { ...headers, [REPLAYED]: 'true' });
}
