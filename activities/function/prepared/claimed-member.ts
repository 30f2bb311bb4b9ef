import { log } from '@temporalio/activity';
import { MayflyError } from '../../../model/errors.ts';
import { type Attempt, deriveAttemptIds, getLastAttempt, type RunRecord } from '../../../model/functions/run.ts';
import type { HostRef } from '../../../model/host.ts';
import { isRefusedClaim } from '../../../model/pools/claim-refusal.ts';
import type { PoolClaims, PoolRecord } from '../../../model/pools/pool.ts';
import type { Size } from '../../../model/project-limits.ts';
import type { ClaimRequest } from '../../../model/sagas/messages.ts';
import type { SandboxSpec } from '../../../model/sandbox/sandbox.ts';
import { getHost, isFinal } from '../../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../../store/connect.ts';
import { findCandidates, type MemberRequest, matchesPool } from '../../../store/pools/candidates.ts';
import { createProjectStore } from '../../../store/project-store.ts';
import type { ControlTemporalClient } from '../../../temporal/reconciliation.ts';

interface Deps {
  store: Store;
  reconciliation: Pick<ControlTemporalClient, 'pools' | 'sandboxes'>;
}

/** Request for a member, without the attempt's own fields. */
export type AttemptClaim = Omit<MemberRequest, 'requestId' | 'actor' | 'builds'>;

interface Claimed {
  sandboxId: string;
  host?: HostRef;
  spec: SandboxSpec;
  size: Size;
}

/** Size of a missing member, which is refused. */
const NO_SIZE = { cpus: 0, memoryMib: 0 };
/** Number of members that one attempt tries. */
const TRIES = 3;

/**
 * Claims a member, whose own workflow arbitrates. Records the candidate first, so a retry tries the same one, and a
 * release finds it.
 * @returns null: none available
 */
export async function claimMember(
  deps: Deps,
  run: RunRecord,
  attempt: Attempt,
  wish: AttemptClaim,
): Promise<Claimed | null> {
  const { store } = deps;
  if (run.member) {
    const size = (await store.sandboxes.get(run.member))?.size ?? NO_SIZE;
    if (await isGranted(deps, run, run.member, { ...wish, size })) return recordClaimed(deps, run, attempt, run.member);
    await recordCandidate(store, run, run.member, null);
  }
  const own = createProjectStore(store, { project: run.project, isOperator: false });
  const wanted: MemberRequest = { ...wish, ...claimIdentity(run) };
  const pools = (await own.pools.known()).filter((pool) => matchesPool(pool, wanted));
  const [pool] = pools;
  if (!pool) return null;
  const { request, members } = await findCandidates(own, pools, wanted);
  for (const { id, pool: its } of members.slice(0, TRIES)) {
    await recordCandidate(store, run, null, id);
    if (await isGranted(deps, run, id, request)) {
      const claimed = await recordClaimed(deps, run, attempt, id);
      await reportClaims(deps, its, { hits: 1, misses: 0 });
      return claimed;
    }
    await recordCandidate(store, run, id, null);
  }
  await reportClaims(deps, pool, { hits: 0, misses: 1 });
  return null;
}

/**
 * Releases a member that an abandoned attempt may have claimed: repeats the claim, and ends the member.
 * @throws Error until it has ended
 */
export async function releaseMember(deps: Deps, runId: string): Promise<void> {
  const run = await deps.store.runs.get(runId);
  const attempt = run && getLastAttempt(run);
  const member = run?.member ?? null;
  if (!attempt || member === null || member === attempt.sandboxId) return;
  const present = await deps.store.sandboxes.get(member);
  if (!present || isFinal(present.state)) return;
  const { spec, size = NO_SIZE } = present;
  if (!(await isGranted(deps, run, member, { spec, size, requestedAt: attempt.begunAt }))) return;
  await deps.reconciliation.sandboxes.end(member);
  throw new Error(`${member}, which ${run.id} had asked for, has not ended`);
}

/** Identifies the claim by the id that a sandbox created for the attempt would have. */
function claimIdentity({ id, tries, project, createdBy }: RunRecord) {
  const { sandboxId: requestId } = deriveAttemptIds(id, tries);
  return { requestId, actor: { ...createdBy, project }, builds: 'run' } as const;
}

async function isGranted(
  { store, reconciliation }: Deps,
  run: RunRecord,
  memberId: string,
  wish: Pick<ClaimRequest, 'spec' | 'size' | 'requestedAt'>,
): Promise<boolean> {
  const request = { ...wish, ...claimIdentity(run) };
  try {
    await reconciliation.pools.claimOnce(memberId, request);
    return true;
  } catch (error) {
    if (!(error instanceof MayflyError) || !isRefusedClaim(error)) throw error;
    const record = await store.sandboxes.get(memberId); // its workflow may have been lost since
    return record?.pool?.claimedBy === request.requestId;
  }
}

async function recordClaimed({ store }: Deps, run: RunRecord, attempt: Attempt, memberId: string): Promise<Claimed> {
  const attempts = [...run.attempts.slice(0, -1), { ...attempt, sandboxId: memberId }];
  const isOurs = await store.runMembers.settle({ runId: run.id, tries: run.tries }, memberId, attempts);
  const claimed = await store.sandboxes.get(memberId);
  if (!isOurs || !claimed) throw supersededError(run);
  const host = getHost(claimed);
  return { sandboxId: memberId, ...(host && { host }), spec: claimed.spec, size: claimed.size ?? NO_SIZE };
}

async function recordCandidate(
  { runMembers }: Store,
  run: RunRecord,
  from: string | null,
  to: string | null,
): Promise<void> {
  if (!(await runMembers.ask({ runId: run.id, tries: run.tries }, from, to))) throw supersededError(run);
}

function supersededError({ id, tries }: RunRecord): Error {
  return new Error(`another goes on with sandbox ${tries} of ${id}`);
}

/** Reports claims to a pool. A lost report only affects its target size. */
async function reportClaims({ reconciliation }: Deps, pool: PoolRecord, claims: PoolClaims): Promise<void> {
  try {
    await reconciliation.pools.used(pool, claims);
  } catch (error) {
    log.info('a pool does not hear how it is used', { pool: pool.name, why: String(error) });
  }
}
