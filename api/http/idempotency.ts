import { createHash, randomBytes } from 'node:crypto';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { ID_BYTES } from '../../model/ids.ts';
import type { Attempt } from '../../services/idempotent-attempt.ts';
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
  /** With the same Idempotency-Key, the same method, path and body are the same request. */
  body: unknown;
  /** How the id is said when nobody can say whether it was begun. */
  subject?: Subject;
  /**
   * Answers a repetition with what is true by then. Null: nothing is known of it any more, so the first answer is given.
   * `@default` the first answer
   */
  again?: (id: string, firstStatus: number) => Promise<Response | null>;
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

/**
 * Answers a request, and answers it again when it comes again with the same Idempotency-Key: of what it made as that is by then.
 * @param answer begins what is asked for, or joins what an earlier attempt began: both have the same `subjectId`
 * @throws MayflyError idempotency_key_reused, and what `answer` throws
 */
export async function answerOnce(
  c: Context<Env>,
  asked: Asked,
  answer: (attempt: Attempt) => Promise<Answer>,
): Promise<Response> {
  const { store } = c.get('deps');
  const freshId = asked.idFrom(randomBytes(ID_BYTES));
  const claim = claimOf(c, asked, freshId);
  const claimed: Claimed = claim ? await store.idempotency.claim(claim) : { fresh: true };
  if (!claimed.fresh && claimed.answer) return answerAgain(c, asked, claimed, claimed.answer);
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

function claimOf(c: Context<Env>, { body }: Asked, subjectId: string): Claim | null {
  const key = c.req.header('idempotency-key');
  if (key === undefined) return null;
  const content = canonicalJson([c.req.method, c.get('pathById') ?? c.req.path, body]);
  const bodyDigest = createHash('sha256').update(content).digest('hex');
  return { apiKeyId: c.get('apiKey').id, key, bodyDigest, subjectId };
}

/** Answers a repetition, and says that it is one. A refusal is repeated as it was. */
async function answerAgain(
  c: Context<Env>,
  { again }: Asked,
  { subjectId, memberId }: Pick<Attempt, 'subjectId'> & Pick<Lead, 'memberId'>,
  first: StoredAnswer,
): Promise<Response> {
  const isRefusal = first.status >= 400;
  const now = again && !isRefusal ? await again(memberId ?? subjectId, first.status) : null;
  if (!now) return repeatAnswer(c, first);
  now.headers.set(REPLAYED, 'true');
  return now;
}

/** The same answer again, said to be so. */
function repeatAnswer(c: Context<Env>, answer: StoredAnswer): Response {
  const headers = Object.fromEntries(answer.headers.map(({ name, value }) => [name, value]));
  return c.body(answer.body, answer.status as ContentfulStatusCode, { ...headers, [REPLAYED]: 'true' });
}
