import { createHash, randomBytes } from 'node:crypto';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { MayflyError } from '../model/errors.ts';
import { ID_BYTES } from '../model/ids.ts';
import { canonicalJson } from '../store/canonical-json.ts';
import type { Store } from '../store/connect.ts';
import type { Claim, StoredAnswer } from '../store/idempotency.ts';
import type { Env } from './context.ts';

/** Says that an answer was given before. */
export const REPLAYED = 'Idempotent-Replayed';
/** Headers that belong to an answer wherever it is given again. */
const KEPT_HEADERS = ['Content-Type', 'Location', 'Preference-Applied'];

/** One request that makes something: the id of that, whether it may be the first of its key, and the answer given before. */
export interface Attempt {
  subjectId: string;
  isFresh: boolean;
  /** Given already; answer with it again. */
  answer: StoredAnswer | null;
  /** Null without an Idempotency-Key. */
  claim: Claim | null;
}

/**
 * Settles what this request is about.
 * @param idFrom makes an id of what the request makes out of random bytes
 * @throws MayflyError idempotency_key_reused
 */
export async function beginAttempt(
  store: Store,
  idFrom: (random: Uint8Array) => string,
  request: { apiKeyId: string; key: string | undefined; method: string; path: string; body: unknown },
): Promise<Attempt> {
  const subjectId = idFrom(randomBytes(ID_BYTES));
  if (request.key === undefined) return { subjectId, isFresh: true, answer: null, claim: null };
  const content = canonicalJson([request.method, request.path, request.body]);
  const bodyDigest = createHash('sha256').update(content).digest('hex');
  const claim: Claim = { apiKeyId: request.apiKeyId, key: request.key, bodyDigest, subjectId };
  const claimed = await store.idempotency.claim(claim);
  if (claimed.fresh) return { subjectId, isFresh: true, answer: null, claim };
  return { subjectId: claimed.subjectId, isFresh: false, answer: claimed.answer, claim };
}

/** The id of one more thing that a request makes; the same request, the same id. */
export function furtherId(idFrom: (random: Uint8Array) => string, subjectId: string, what: string): string {
  return idFrom(createHash('sha256').update(`${subjectId}/${what}`).digest().subarray(0, ID_BYTES));
}

/**
 * Runs what may refuse a request before anything is made, which frees its key. It stays taken when Temporal was away:
 * the wish may have arrived nevertheless.
 */
export async function freedWhenRefused<T>(
  store: Store,
  { claim, isFresh }: Attempt,
  begin: () => Promise<T>,
): Promise<T> {
  try {
    return await begin();
  } catch (error) {
    const isAway = error instanceof MayflyError && error.code === 'temporal_unavailable';
    if (claim && isFresh && !isAway) await store.idempotency.release(claim);
    throw error;
  }
}

/** Keeps the answer for whoever asks again with the same key. */
export async function keepAnswer(store: Store, claim: Claim | null, response: Response): Promise<void> {
  if (!claim) return;
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [{ name, value }];
  });
  await store.idempotency.complete(claim, { status: response.status, headers, body: await response.clone().text() });
}

/** The same answer again, said to be so. */
export function repeatAnswer(c: Context<Env>, answer: StoredAnswer): Response {
  const headers = Object.fromEntries(answer.headers.map(({ name, value }) => [name, value]));
  return c.body(answer.body, answer.status as ContentfulStatusCode, { ...headers, [REPLAYED]: 'true' });
}
