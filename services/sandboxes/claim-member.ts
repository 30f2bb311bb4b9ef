import { setTimeout as delay } from 'node:timers/promises';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { isRefusedClaim, type Miss, missOf } from '../../model/pools/claim-refusal.ts';
import { isShared } from '../../model/pools/pool-saga.ts';
import type { ClaimRequest } from '../../model/sagas/messages.ts';
import { recordedInput } from '../../model/sagas/reconcile.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { Lead } from '../../store/access/idempotency.ts';
import { candidates, isOf, type MemberWish } from '../../store/pools/candidates.ts';
import type { Attempt } from '../idempotent-attempt.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** Members that one request asks before it goes on without. Each answers at once, or within the time that its guest is given. */
const TRIES = 3;
/** A store that was started again is back by then. Milliseconds. */
const STORE_BACK_MS = 10_000;
const PAUSE_MS = 250;

interface ClaimOutcome {
  /** Null: it is to be made. */
  record: SandboxRecord | null;
  /** There is a pool of such, and none of its members could be had. */
  isMissed: boolean;
}

/** Members that were asked, and why none was had. */
interface Tries {
  asked: Set<string>;
  miss: Miss;
}

type Deps = Pick<ServiceDeps, 'store' | 'sagas' | 'poolDoor'>;

const NO_POOL: ClaimOutcome = { record: null, isMissed: false };
const MISSED: ClaimOutcome = { record: null, isMissed: true };
/** Of a request whose member says itself how large it is. */
const NO_SIZE = { cpus: 0, memoryMib: 0 };
/** What a request comes to that makes its own. */
const OWN: Lead = { memberId: null, isFixed: true };

/**
 * A member of a pool for a create. Who has it is decided by the member's own workflow, which answers the same request with the
 * same. Before it is asked the Idempotency-Key says which one that is, so that whoever asks again with that key, also after
 * this process has died, asks the same one. What a request comes to in the end, that member or a sandbox of its own, is settled
 * there too, once: of two that ask at once with one key, both go the same way.
 * @param wish null: none would do
 * @throws MayflyError name_taken; temporal_unavailable when it may be had
 */
export async function claimMember(deps: Deps, attempt: Attempt, wish: () => MemberWish | null): Promise<ClaimOutcome> {
  const wanted = wish();
  if (wanted === null) return NO_POOL;
  if (!attempt.isFresh) return repeated(deps, attempt, { ...wanted, size: NO_SIZE });
  const pools = (await deps.store.pools.known()).filter((pool) => isOf(pool, wanted));
  const [pool] = pools;
  if (!pool) return NO_POOL;
  const { request, members, isLimited } = await candidates(deps.store, pools, wanted);
  const tries: Tries = { asked: new Set(), miss: members.length > 0 ? 'taken' : isLimited ? 'limited' : 'empty' };
  // Those of a shared pool that somebody is asking may be refused to them, for what they have had.
  const again = members.filter((member) => isShared(member.pool)).map((member) => ({ ...member, isPatient: true }));
  for (const { id, pool: its, isPatient } of [
    ...members.map((member) => ({ ...member, isPatient: false })),
    ...again,
  ]) {
    if (tries.asked.size === TRIES || tries.miss === 'limited') break;
    if (tries.asked.has(id)) continue;
    const outcome = await deps.poolDoor.ask(id, () => tried(deps, attempt, request, id, tries), isPatient);
    if (outcome === null) continue;
    if (outcome.record) deps.poolDoor.note(its, 'hit');
    return outcome;
  }
  deps.poolDoor.note(pool, tries.miss);
  const isAlone = tries.asked.size === 0 || (await lead(deps, attempt, OWN));
  return isAlone ? MISSED : repeated(deps, attempt, request);
}

/** Null: it can't be had. */
async function tried(
  deps: Deps,
  attempt: Attempt,
  request: ClaimRequest,
  id: string,
  tries: Tries,
): Promise<ClaimOutcome | null> {
  tries.asked.add(id);
  if (!(await lead(deps, attempt, { memberId: id, isFixed: false }))) return repeated(deps, attempt, request);
  const record = await claimed(deps, id, request, tries);
  return record && kept(deps, attempt, request, record);
}

/** One that was asked before goes the way on which that was, or its own from then on. */
async function repeated(deps: Deps, attempt: Attempt, request: ClaimRequest): Promise<ClaimOutcome> {
  for (;;) {
    const { memberId, isFixed } = attempt.lead;
    if (memberId === null) {
      if (isFixed || (await lead(deps, attempt, OWN))) return NO_POOL;
      continue;
    }
    const present = await deps.store.sandboxes.get(memberId);
    if (isFixed) return { record: present, isMissed: false };
    const { size = request.size } = present ?? (await deps.store.pools.spare(memberId)) ?? {};
    const record = await claimed(deps, memberId, { ...request, size });
    if (record) return kept(deps, attempt, request, record);
    if (await lead(deps, attempt, OWN)) return MISSED;
  }
}

/** A member that was claimed, unless the same request has come to something else meanwhile: then that one goes. */
async function kept(deps: Deps, attempt: Attempt, request: ClaimRequest, record: SandboxRecord): Promise<ClaimOutcome> {
  const { id } = record;
  const isLed = await onceStoreIsBack(() => lead(deps, attempt, { memberId: id, isFixed: true }));
  if (!isLed && attempt.lead.memberId !== id) {
    await deps.sagas.sandboxes.destroy(recordedInput(record, 'destroy'), { actor: request.actor });
    return repeated(deps, attempt, request);
  }
  return { record, isMissed: false };
}

/** False: another request with the same key has gone another way; the attempt knows which by then. */
async function lead({ store }: Deps, attempt: Attempt, to: Lead): Promise<boolean> {
  const { claim, subjectId, lead: from } = attempt;
  if (claim && !(await store.idempotency.lead(claim, subjectId, from, to))) {
    attempt.lead = await store.idempotency.ledTo(claim);
    return false;
  }
  attempt.lead = to;
  return true;
}

/** The member, when it is the caller's; null: it can't be had. */
async function claimed(
  { store, sagas }: Deps,
  id: string,
  request: ClaimRequest,
  tries?: Tries,
): Promise<SandboxRecord | null> {
  try {
    await sagas.pools.claim(id, request);
  } catch (error) {
    if (!(error instanceof MayflyError) || !isRefusedClaim(error)) throw error;
    if (tries) tries.miss = missOf(error);
    return null;
  }
  const record = await onceStoreIsBack(() => store.sandboxes.get(id));
  return record?.state === 'running' ? record : null; // it may have died, or been ended, at once
}

/** What is granted is the caller's: a store that has just gone away is waited for. @throws MayflyError store_unavailable */
async function onceStoreIsBack<T>(look: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + STORE_BACK_MS; ; await delay(PAUSE_MS)) {
    try {
      return await look();
    } catch (error) {
      const isAway = isMayflyError(error, 'store_unavailable');
      if (!isAway || Date.now() > deadline) throw error;
    }
  }
}
