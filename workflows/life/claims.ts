import { CancellationScope, setHandler } from '@temporalio/workflow';
import { TOO_OLD_MS } from '../../model/pools/pool-saga.ts';
import { NO_PROJECT } from '../../model/project.ts';
import type { ClaimRequest } from '../../model/sagas/messages.ts';
import type { Membership } from '../../model/sandbox/sandbox.ts';
import { hostOf } from '../../model/sandbox/sandbox-state.ts';
import { control, controlUntilDone } from '../saga/control.ts';
import { refusal } from '../saga/failure.ts';
import { onHost } from '../saga/host-activities.ts';
import { claim, retire } from '../saga/messages.ts';
import { now } from '../saga/now.ts';
import type { Life } from './life.ts';
import type { ClaimedChanges } from './recorded-life.ts';

/**
 * Decides whose a member of a pool becomes: the first's who claims it, unless its pool has retired it before. Whatever lists
 * say, it is decided here.
 */
export function handleClaims(life: Life): void {
  let claimingId: string | null = null;
  const handle = async (request: ClaimRequest) => {
    claimingId ??= request.requestId;
    try {
      await life.inbox.take(() => claimOnce(life, request));
    } finally {
      claimingId = null;
    }
  };
  const validator = (request: ClaimRequest) => {
    life.checkOpen();
    if ([membershipOf(life).claimedBy, claimingId].includes(request.requestId)) return;
    if (claimingId !== null) throw refusal('sandbox_busy', `${life.id} is another's.`);
    check(life, request);
  };
  setHandler(claim, handle, { validator });
  setHandler(retire, () => life.inbox.take(async () => retireUnclaimed(life)), { validator: () => life.checkOpen() });
}

/** Its pool takes it away, unless somebody has claimed it. */
function retireUnclaimed(life: Life): boolean {
  if (membershipOf(life).claimedBy !== null) return false;
  life.retire();
  return true;
}

async function claimOnce(life: Life, request: ClaimRequest): Promise<void> {
  if (membershipOf(life).claimedBy === request.requestId) return;
  check(life, request);
  await probeGuest(life, request);
  checkLiving(life);
  if (life.record.project === NO_PROJECT) await giveShared(life, request);
  else await give(life, request);
  life.used();
}

/** It counts in the project that claims it before it is that project's. */
async function giveShared(life: Life, request: ClaimRequest): Promise<void> {
  const { size, actor } = request;
  const { project, apiKeyId } = actor;
  const counted = { sandboxId: life.id, pool: membershipOf(life).name, project };
  try {
    await control.admitClaim({ ...counted, size, apiKeyId });
    checkLiving(life);
    await give(life, request);
  } catch (error) {
    await CancellationScope.nonCancellable(() => controlUntilDone.releaseClaim(counted));
    throw error;
  }
}

/** Its record is its caller's from here on, as if it had been made for that. */
async function give(
  life: Life,
  { requestId, name, spec, size, actor, requestedAt, builds }: ClaimRequest,
): Promise<void> {
  const membership = membershipOf(life);
  const at = now();
  const ageSeconds = Math.floor((Date.parse(at) - Date.parse(membership.warmAt ?? at)) / 1_000);
  const boot = { way: 'warm', why: null, templateId: null, ageSeconds } as const;
  const changes: ClaimedChanges = {
    name: name ?? null,
    spec,
    size,
    createdBy: actor,
    createdAt: requestedAt,
    runningAt: at,
    expiresAt: new Date(Date.parse(requestedAt) + spec.ttlSeconds * 1_000).toISOString(),
    boot,
    ...(builds && { builds }),
    pool: { ...membership, claimedBy: requestId },
  };
  const detail = { ...(name !== undefined && { name }), spec, pool: membership.name, requestId, ageSeconds };
  await life.recordClaimed(changes, detail, actor);
}

/** Whether its guest answers, over the connection that its host keeps, and its source is what it was made of. */
async function probeGuest(life: Life, { spec }: ClaimRequest): Promise<void> {
  const { id, record, timeouts } = life;
  const host = hostOf(record);
  if (host === null) throw refusal('internal', `${id} is warm, and on no host.`);
  const within = { scheduleToCloseTimeout: timeouts.greetMs, retry: { maximumAttempts: 1 } };
  const answer = await onHost(host, within)
    .greet({ sandboxId: id, source: spec.source })
    .catch(() => null);
  if (answer === null) throw refusal('sandbox_not_running', `${id} does not answer.`);
  if (answer.content !== membershipOf(life).content)
    throw refusal('sandbox_not_running', `The source of ${id} has changed.`);
}

/** @throws ApplicationFailure why it can't be had */
function check(life: Life, { spec, size, actor }: ClaimRequest): void {
  const { id, record } = life;
  const { claimedBy } = membershipOf(life);
  if (record.project !== NO_PROJECT && record.project !== actor.project)
    throw refusal('sandbox_not_found', `There is no sandbox ${id}.`);
  if (claimedBy !== null) throw refusal('sandbox_busy', `${id} is another's.`);
  checkLiving(life);
  if (record.state !== 'warm') throw refusal('sandbox_not_running', `${id} is ${record.state}.`);
  if (Date.parse(record.expiresAt) - Date.now() < TOO_OLD_MS) {
    throw refusal('sandbox_not_running', `${id} is too old.`);
  }
  const own = record.spec;
  const isWished =
    spec.source === own.source &&
    spec.network.egress === own.network.egress &&
    size.cpus === record.size?.cpus &&
    size.memoryMib === record.size.memoryMib;
  if (!isWished) throw refusal('sandbox_not_running', `${id} is not what is asked for.`);
}

function checkLiving({ id, isEnding }: Life): void {
  if (isEnding) throw refusal('sandbox_ended', `${id} is ending or has ended.`);
}

function membershipOf({ record }: Life): Membership {
  const { pool, id } = record;
  if (pool) return pool;
  throw refusal('sandbox_not_running', `${id} is no pool's.`);
}
