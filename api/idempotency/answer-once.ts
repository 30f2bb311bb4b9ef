import { createHash, randomBytes } from 'node:crypto';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { parseExactJson } from '../../model/events/json/exact-json.ts';
import { ID_BYTES } from '../../model/ids.ts';
import { awaitDecision, PendingApproval } from '../../services/approvals/approval-events.ts';
import { type IdempotentCall, releaseRefused } from '../../services/idempotent-call.ts';
import type { Claim, ClaimResult, StoredAnswer } from '../../store/access/idempotency.ts';
import { canonicalJson } from '../../store/audit/canonical-json.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import { approvalView } from '../approvals/approval-schemas.ts';
import { type Env, preferenceOf, waitLimit } from '../http/context.ts';
import { problemResponse } from '../http/problem.ts';
import { type Outcome, REPLAYED, type Responder } from '../http/route.ts';

/** Headers stored with a response for its repetition. */
const KEPT_HEADERS = ['Content-Type', 'Location'];

/** Operation that deduplicates requests with the same Idempotency-Key, method, path and body. */
export interface Operation<T> {
  /** Derives the id of the result from random bytes. */
  idFrom: (random: Uint8Array) => string;
  /** Location of the result, for an error that leaves its start open. `@default` none */
  subject?: Subject;
  /**
   * Returns the present state for a retry; null: unknown, so the first response is repeated.
   * `@default` the first response
   */
  again?: (id: string, firstStatus: number) => Promise<Outcome<T> | null>;
}

/** Path below which the result is, and the member of a problem that holds its id. */
interface Subject {
  path: string;
  member: 'sandboxId' | 'commandId' | 'snapshotId' | 'captureId';
}

/**
 * Outcome that a retry gets again; otherwise a retry runs `answer` again. `@default` kept while the caller is connected
 */
class StoredOutcome<T> {
  constructor(
    readonly outcome: Outcome<T>,
    readonly isKept: boolean,
  ) {}
}

export function keep<T>(outcome: Outcome<T>, isKept = true): StoredOutcome<T> {
  return new StoredOutcome(outcome, isKept);
}

/**
 * Answers a request, and its retries with the same Idempotency-Key with the present state of the result. A request that
 * needs an approval gets that approval, or its result once approved within the preferred wait.
 * @param answer starts the operation, or joins that of an earlier request with the same `subjectId`. Its refusal
 *   releases the key. An outcome without {@link keep} is kept unless the caller has disconnected
 * @throws MayflyError idempotency_key_reused, and what `answer` throws
 */
export async function answerOnce<T>(
  { c, respond }: Pick<Responder<T>, 'c' | 'respond'>,
  operation: Operation<T>,
  answer: (call: IdempotentCall) => Promise<Outcome<T> | StoredOutcome<T>>,
): Promise<Response> {
  const { store } = c.get('deps');
  const freshId = operation.idFrom(randomBytes(ID_BYTES));
  const claim = await claimOf(c, freshId);
  const claimed: ClaimResult = claim ? await store.idempotency.claim(claim) : { fresh: true };
  if (!claimed.fresh && claimed.answer) return answerAgain({ c, respond }, operation, claimed, claimed.answer);
  const call: IdempotentCall = {
    apiKey: c.get('apiKey'),
    subjectId: claimed.fresh ? freshId : claimed.subjectId,
    isFresh: claimed.fresh,
    claim,
    outcome: claimed.fresh ? { memberId: null, isFinal: false } : claimed.outcome,
    approvalId: null,
    admittedIds: [],
  };
  c.set('call', call);
  for (;;) {
    try {
      const answered = await answer(call);
      const { outcome, isKept } = answered instanceof StoredOutcome ? answered : keep(answered, isClientConnected(c));
      const response = respond(outcome);
      if (isKept && claim) await keepAnswer(store, claim, response);
      return response;
    } catch (error) {
      if (error instanceof PendingApproval) {
        const pending = await answerPending(c, error);
        if (pending) return pending;
        continue;
      }
      await releaseRefused(store, call, error);
      if (!isUncertain(error) || !operation.subject) throw error;
      return uncertainAnswer(c, error, call.outcome.memberId ?? call.subjectId, operation.subject);
    }
  }
}

/** Waits for a decision as the caller prefers. @returns the pending approval; null: decided */
async function answerPending(c: Context<Env>, { record }: PendingApproval): Promise<Response | null> {
  const { seconds, applied } = preferenceOf(c.req.header('prefer'));
  let latest = record;
  if (applied !== null) {
    c.header('Preference-Applied', applied);
    const startedAt = Date.now();
    latest = await awaitDecision(c.get('deps'), record, waitLimit(c, seconds));
    c.set('waitedSeconds', (Date.now() - startedAt) / 1_000);
  }
  if (latest.state !== 'awaiting-approval') return null;
  c.header('Location', `/v1/approvals/${latest.id}`);
  return c.json(approvalView(latest), 202);
}

/** True when the operation may have started: the store can fail before or after that. */
function isUncertain(error: unknown): error is MayflyError {
  if (!(error instanceof MayflyError)) return false;
  const { mayHaveBegun = error.code === 'store_unavailable' } = error.options;
  return mayHaveBegun;
}

/** Returns a problem with the id, since a retry without an Idempotency-Key would make another resource. */
function uncertainAnswer(c: Context<Env>, error: MayflyError, id: string, { path, member }: Subject): Response {
  const location = `${path}/${id}`;
  c.header('Location', location);
  const detail = `${error.message} It may have begun nevertheless, as ${location}: look there before asking for another.`;
  return problemResponse(c, new MayflyError(error.code, detail, { ...error.options, cause: error }), { [member]: id });
}

/** Reports whether the client is still connected. A disconnected one may retry, and wait for the end. */
export function isClientConnected(c: Context<Env>): boolean {
  return !c.req.raw.signal.aborted;
}

/** Stores the response for retries. */
async function keepAnswer(store: ProjectStore, claim: Claim, response: Response): Promise<void> {
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [{ name, value }];
  });
  try {
    await store.idempotency.complete(claim, { status: response.status, headers, body: await response.clone().text() });
  } catch (error) {
    // The request is done; a retry is answered from the record.
    if (!isMayflyError(error, 'store_unavailable')) throw error;
  }
}

async function claimOf(c: Context<Env>, subjectId: string): Promise<Claim | null> {
  const key = c.req.header('idempotency-key');
  if (key === undefined) return null;
  const request = canonicalJson([c.req.method, c.get('pathById') ?? c.req.path, exactBody(await c.req.text())]);
  const bodyDigest = createHash('sha256').update(request).digest('hex');
  return { apiKeyId: c.get('apiKey').id, key, bodyDigest, subjectId };
}

/** Returns one value for all equivalent JSON texts; returns invalid JSON unchanged, since no operation reads it. */
function exactBody(body: string): unknown {
  try {
    return parseExactJson(body);
  } catch {
    return body;
  }
}

/** Answers a retry, marked as one. Repeats a refusal unchanged. */
async function answerAgain<T>(
  { c, respond }: Pick<Responder<T>, 'c' | 'respond'>,
  { again }: Operation<T>,
  { subjectId, outcome }: Pick<IdempotentCall, 'subjectId' | 'outcome'>,
  first: StoredAnswer,
): Promise<Response> {
  const isRefusal = first.status >= 400;
  const now = again && !isRefusal ? await again(outcome.memberId ?? subjectId, first.status) : null;
  if (!now) return repeatAnswer(c, first);
  c.header(REPLAYED, 'true');
  return respond(now);
}

function repeatAnswer(c: Context<Env>, answer: StoredAnswer): Response {
  const headers = Object.fromEntries(answer.headers.map(({ name, value }) => [name, value]));
  return c.body(answer.body, answer.status as ContentfulStatusCode, { ...headers, [REPLAYED]: 'true' });
}
