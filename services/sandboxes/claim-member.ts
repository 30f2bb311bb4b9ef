import { setTimeout as delay } from 'node:timers/promises';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { getMissReason, isRefusedClaim, type MissReason } from '../../model/pools/claim-refusal.ts';
import { isShared } from '../../model/pools/pool-saga.ts';
import type { ClaimRequest, SandboxInput } from '../../model/sagas/messages.ts';
import { toAdoptionInput } from '../../model/sagas/reconcile.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { Outcome } from '../../store/access/idempotency.ts';
import { findCandidates, matchesPool } from '../../store/pools/candidates.ts';
import type { IdempotentCall } from '../idempotent-call.ts';
import type { ServiceDeps } from '../service-deps.ts';
import type { Origin } from './placement.ts';

/** Limit of members that one request tries to claim. Each answers at once, or within the timeout of its guest. */
const MAX_TRIES = 3;
/** Time in which a restarted store is back, ms. */
const STORE_BACK_MS = 10_000;
const RETRY_INTERVAL_MS = 250;

interface ClaimResult {
  /** Claimed member; null: the request makes its own sandbox. */
  record: SandboxRecord | null;
  /** True when a pool fits, but none of its members could be claimed. */
  isMissed: boolean;
}

/** Tried members, and why none was claimed. */
interface Tries {
  tried: Set<string>;
  miss: MissReason;
}

type Deps = Pick<ServiceDeps, 'store' | 'sagas' | 'poolDoor'>;

const NO_POOL: ClaimResult = { record: null, isMissed: false };
const MISSED: ClaimResult = { record: null, isMissed: true };
/** Outcome of a request that makes its own sandbox. */
const OWN: Outcome = { memberId: null, isFinal: true };

/**
 * Claims a member of a pool for a create. The member's workflow decides the claim, and repeats its answer for the same
 * request. The Idempotency-Key records the member first, so that a retry, also after a crash of this process, claims
 * the same one. It also settles the outcome once, a member or an own sandbox, for concurrent requests with one key.
 * @param origin `known` hosts decide by their sources which members fit
 * @throws MayflyError name_taken; temporal_unavailable when it may have been claimed
 */
export async function claimMember(
  deps: Deps,
  call: IdempotentCall,
  input: SandboxInput,
  { size, known }: Pick<Origin, 'size' | 'known'>,
): Promise<ClaimResult> {
  const { id: requestId, name, spec, createdBy: actor, requestedAt } = input;
  if (spec.snapshotId !== null || spec.captureId || (spec.boot ?? 'auto') !== 'auto') return NO_POOL;
  const request = { requestId, ...(name !== undefined && { name }), spec, size, actor, requestedAt };
  if (!call.isFresh) return repeatClaim(deps, call, request);
  const pools = (await deps.store.pools.known()).filter((pool) => matchesPool(pool, request));
  const [pool] = pools;
  if (!pool) return NO_POOL;
  const { members, isLimited } = await findCandidates(deps.store, pools, request, known);
  const tries: Tries = { tried: new Set(), miss: members.length > 0 ? 'taken' : isLimited ? 'limited' : 'empty' };
  // A shared pool may refuse another caller's claim whose share is used up: such a member becomes free again.
  const again = members.filter((member) => isShared(member.pool)).map((member) => ({ ...member, isPatient: true }));
  for (const { id, pool: its, isPatient } of [
    ...members.map((member) => ({ ...member, isPatient: false })),
    ...again,
  ]) {
    if (tries.tried.size === MAX_TRIES || tries.miss === 'limited') break;
    if (tries.tried.has(id)) continue;
    const result = await deps.poolDoor.ask(id, () => claimAndSettle(deps, call, request, id, tries), isPatient);
    if (result === null) continue;
    if (result.record) deps.poolDoor.note(its, 'hit');
    return result;
  }
  deps.poolDoor.note(pool, tries.miss);
  const isAlone = tries.tried.size === 0 || (await setOutcome(deps, call, OWN));
  return isAlone ? MISSED : repeatClaim(deps, call, request);
}

/** @returns null when the member cannot be claimed */
async function claimAndSettle(
  deps: Deps,
  call: IdempotentCall,
  request: ClaimRequest,
  id: string,
  tries: Tries,
): Promise<ClaimResult | null> {
  tries.tried.add(id);
  if (!(await setOutcome(deps, call, { memberId: id, isFinal: false }))) return repeatClaim(deps, call, request);
  const record = await claim(deps, id, request, tries);
  return record && settleClaim(deps, call, request, record);
}

/** Claims the member of an earlier request with the same key; while its outcome is open, settles on an own sandbox. */
async function repeatClaim(deps: Deps, call: IdempotentCall, request: ClaimRequest): Promise<ClaimResult> {
  for (;;) {
    const { memberId, isFinal } = call.outcome;
    if (memberId === null) {
      if (isFinal || (await setOutcome(deps, call, OWN))) return NO_POOL;
      continue;
    }
    if (isFinal) return { record: await deps.store.sandboxes.get(memberId), isMissed: false };
    const record = await claim(deps, memberId, request);
    if (record) return settleClaim(deps, call, request, record);
    if (await setOutcome(deps, call, OWN)) return MISSED;
  }
}

/** Settles on a claimed member. Destroys it when another request with the same key has settled on something else. */
async function settleClaim(
  deps: Deps,
  call: IdempotentCall,
  request: ClaimRequest,
  record: SandboxRecord,
): Promise<ClaimResult> {
  const { id } = record;
  const isSettled = await retryStore(() => setOutcome(deps, call, { memberId: id, isFinal: true }));
  if (!isSettled && call.outcome.memberId !== id) {
    await deps.sagas.sandboxes.destroy(toAdoptionInput(record, 'destroy'), { actor: request.actor });
    return repeatClaim(deps, call, request);
  }
  return { record, isMissed: false };
}

/** @returns false when another request with the same key has set another outcome, which the call adopts */
async function setOutcome({ store }: Deps, call: IdempotentCall, to: Outcome): Promise<boolean> {
  const { claim: slot, subjectId, outcome: from } = call;
  if (slot && !(await store.idempotency.setOutcome(slot, subjectId, from, to))) {
    call.outcome = await store.idempotency.getOutcome(slot);
    return false;
  }
  call.outcome = to;
  return true;
}

/** @returns the claimed member; null when it cannot be claimed */
async function claim(
  { store, sagas }: Deps,
  id: string,
  request: ClaimRequest,
  tries?: Tries,
): Promise<SandboxRecord | null> {
  try {
    await sagas.pools.claim(id, request);
  } catch (error) {
    if (!(error instanceof MayflyError) || !isRefusedClaim(error)) throw error;
    if (tries) tries.miss = getMissReason(error);
    return null;
  }
  const record = await retryStore(() => store.sandboxes.get(id));
  return record?.state === 'running' ? record : null; // it may have died or ended at once
}

/**
 * Retries while the store is unavailable, since the member is claimed already.
 * @throws MayflyError store_unavailable
 */
async function retryStore<T>(run: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + STORE_BACK_MS; ; await delay(RETRY_INTERVAL_MS)) {
    try {
      return await run();
    } catch (error) {
      const isAway = isMayflyError(error, 'store_unavailable');
      if (!isAway || Date.now() > deadline) throw error;
    }
  }
}
