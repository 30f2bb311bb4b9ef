import { randomBytes, timingSafeEqual } from 'node:crypto';
import { MayflyError } from '../../model/errors.ts';
import { parseExactJson } from '../../model/events/json/exact-json.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { deriveWaitpointId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { formatToken, hashSecret, parseToken } from '../../model/waitpoints/token.ts';
import { getEffectiveState, newWaitpoint, type WaitpointRecord } from '../../model/waitpoints/waitpoint.ts';
import { canonicalJson } from '../../store/audit/canonical-json.ts';
import type { Store } from '../../store/connect.ts';
import type { Completion } from '../../store/waitpoints/waitpoints.ts';
import type { ServiceDeps } from '../service-deps.ts';

const SECRET_BYTES = 32;
const limits = LIMITS.functions.waitpoints;
/** Stand-in for an unknown waitpoint, so that its lookup takes the same time. */
const UNKNOWN_WAITPOINT = { waitpointId: deriveWaitpointId('', ''), hash: hashSecret('') };
const NO_HASH = Buffer.alloc(UNKNOWN_WAITPOINT.hash.length);

interface WaitpointRequest {
  name: string;
  timeoutSeconds?: number | undefined;
}

/**
 * Creates or finds a waitpoint of a run, and adds a token to it.
 * @throws MayflyError run_has_ended, waitpoint_completed, waitpoint_expired, waitpoints_full
 */
export async function addToken(
  { store }: Pick<ServiceDeps, 'store'>,
  run: RunRecord,
  createdBy: Actor,
  { name, timeoutSeconds }: WaitpointRequest,
): Promise<{ waitpoint: WaitpointRecord; token: string }> {
  if (run.state === 'ended') throw new MayflyError('run_has_ended', `${run.id} has ended.`);
  const options = { name, timeoutSeconds: timeoutSeconds ?? limits.timeoutSeconds.default };
  const wanted = newWaitpoint(run, options, createdBy, Date.now());
  const { id } = wanted;
  const present = await store.waitpoints.list(run.id);
  if (!present.some((each) => each.id === id) && present.length >= limits.count) {
    throw new MayflyError('waitpoints_full', `${run.id} has ${present.length} waitpoints.`);
  }
  const found = await store.waitpoints.ensure(wanted);
  assertOpen(found);
  if (found.tokens.length >= limits.tokens) {
    throw new MayflyError('waitpoints_full', `${name} of ${run.id} has ${limits.tokens} tokens.`);
  }
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const expiresAt = timeoutSeconds === undefined ? null : wanted.expiresAt;
  if (!(await store.waitpoints.addToken(id, hashSecret(secret), expiresAt))) {
    assertOpen(await store.waitpoints.ensure(wanted));
  }
  if (expiresAt !== null) await store.waitingRuns.wake(run.id); // its timeout may be earlier now
  return { waitpoint: { ...found, expiresAt: expiresAt ?? found.expiresAt }, token: formatToken(id, secret) };
}

/** @throws MayflyError waitpoint_completed, waitpoint_expired */
function assertOpen(waitpoint: WaitpointRecord): void {
  const { name, runId, expiresAt } = waitpoint;
  const state = getEffectiveState(waitpoint, Date.now());
  if (state === 'completed') throw new MayflyError('waitpoint_completed', `${name} of ${runId} is completed.`);
  if (state === 'expired') throw new MayflyError('waitpoint_expired', `The time of ${name} was over at ${expiresAt}.`);
}

/** Returns the waitpoint of a token; null, after the same work, when the token is invalid or its run is deleted. */
export async function waitpointOf(store: Store, token: string): Promise<Completion | null> {
  const parts = parseToken(token);
  const { waitpointId, hash } = parts ?? UNKNOWN_WAITPOINT;
  const found = await store.waitpoints.get(waitpointId);
  const presented = Buffer.from(hash);
  const place = (found?.tokens ?? []).reduce(
    (known, each, n) => (timingSafeEqual(Buffer.from(each), presented) ? n + 1 : known),
    timingSafeEqual(NO_HASH, presented) ? 1 : 0,
  );
  return parts && found && place > 0 ? { waitpoint: found, token: place } : null;
}

/**
 * Stores the data of a waitpoint. Idempotent for equal data.
 * @param data JSON text
 * @throws MayflyError waitpoint_completed, waitpoint_expired
 */
export async function completeWaitpoint(
  store: Store,
  waitpoint: WaitpointRecord,
  data: string,
  token: number,
): Promise<WaitpointRecord> {
  const { id, runId, name, expiresAt } = waitpoint;
  const state = getEffectiveState(waitpoint, Date.now());
  if (state === 'open') {
    const run = await store.runs.get(runId);
    if (!run || run.state === 'ended') throw new MayflyError('waitpoint_expired', `The run of ${name} has ended.`);
    const completedAt = new Date().toISOString();
    if (await store.waitpoints.complete(id, data, completedAt, token)) {
      await store.waitingRuns.wake(runId);
      return { ...waitpoint, state: 'completed', completedAt };
    }
  }
  const latest = state === 'expired' ? waitpoint : await store.waitpoints.get(id);
  if (latest?.state !== 'completed') {
    throw new MayflyError('waitpoint_expired', `The time of ${name} was over at ${expiresAt}.`);
  }
  if (latest.data !== null && canonicalJson(parseExactJson(latest.data)) === canonicalJson(parseExactJson(data))) {
    await store.waitingRuns.wake(runId); // an earlier attempt may have died before its wake
    return latest;
  }
  throw new MayflyError('waitpoint_completed', `Other data came for ${name} at ${latest.completedAt}.`);
}
