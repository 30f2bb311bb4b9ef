import { CancellationScope, setHandler } from '@temporalio/workflow';
import { MIN_CLAIM_TTL_MS } from '../../model/pools/pool-saga.ts';
import { NO_PROJECT } from '../../model/project.ts';
import type { ClaimRequest } from '../../model/sagas/messages.ts';
import type { Membership } from '../../model/sandbox/sandbox.ts';
import { getHost } from '../../model/sandbox/sandbox-state.ts';
import { control, controlUntilDone } from '../saga/control.ts';
import { refusal } from '../saga/failure.ts';
import { onHost } from '../saga/host-activities.ts';
import { claim, retire } from '../saga/messages.ts';
import { now } from '../saga/now.ts';
import type { SandboxEntity } from './entity.ts';

/** Arbitrates the claims of a pool member and its retirement: the first wins. */
export function handleClaims(entity: SandboxEntity): void {
  let claimingId: string | null = null;
  const handle = async (request: ClaimRequest) => {
    claimingId ??= request.requestId;
    try {
      await entity.inbox.run(() => claimOnce(entity, request));
    } finally {
      claimingId = null;
    }
  };
  const validator = (request: ClaimRequest) => {
    entity.checkOpen();
    if ([membershipOf(entity).claimedBy, claimingId].includes(request.requestId)) return;
    if (claimingId !== null) throw refusal('sandbox_busy', `${entity.id} is another's.`);
    check(entity, request);
  };
  setHandler(claim, handle, { validator });
  setHandler(retire, () => entity.inbox.run(async () => retireUnclaimed(entity)), {
    validator: () => entity.checkOpen(),
  });
}

function retireUnclaimed(entity: SandboxEntity): boolean {
  if (membershipOf(entity).claimedBy !== null) return false;
  entity.terminate({ reason: 'retired', actor: entity.record.createdBy, failure: null });
  return true;
}

async function claimOnce(entity: SandboxEntity, request: ClaimRequest): Promise<void> {
  if (membershipOf(entity).claimedBy === request.requestId) return;
  check(entity, request);
  await probeGuest(entity, request);
  entity.checkLiving();
  if (entity.record.project === NO_PROJECT) await assignSharedMember(entity, request);
  else await assignMember(entity, request);
  entity.state.usedAt = Date.now();
}

/** Assigns a member of a shared pool, after counting it in the quotas of the claiming project. */
async function assignSharedMember(entity: SandboxEntity, request: ClaimRequest): Promise<void> {
  const { size, actor } = request;
  const { project, apiKeyId } = actor;
  const counted = { sandboxId: entity.id, pool: membershipOf(entity).name, project };
  try {
    await control.admitClaim({ ...counted, size, apiKeyId });
    entity.checkLiving();
    await assignMember(entity, request);
  } catch (error) {
    await CancellationScope.nonCancellable(() => controlUntilDone.releaseClaim(counted));
    throw error;
  }
}

/** Makes the caller the owner in the record, as if the sandbox had been created for them. */
async function assignMember(
  entity: SandboxEntity,
  { requestId, name, spec, size, actor, requestedAt, builds }: ClaimRequest,
): Promise<void> {
  const membership = membershipOf(entity);
  const at = now();
  const ageSeconds = Math.floor((Date.parse(at) - Date.parse(membership.warmAt ?? at)) / 1_000);
  const boot = { way: 'warm', why: null, templateId: null, ageSeconds } as const;
  const claimed = {
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
  await entity.recordChange('sandbox.claimed', { state: 'running' }, detail, actor, ({ steps, updatedAt }, event) => {
    const changes = { ...claimed, state: 'running', steps, updatedAt } as const;
    return controlUntilDone.recordClaim({ sandboxId: entity.id, project: actor.project, changes, event });
  });
}

/** @throws ApplicationFailure sandbox_not_running: its guest does not answer, or its source has changed */
async function probeGuest(entity: SandboxEntity, { spec }: ClaimRequest): Promise<void> {
  const { id, record, timeouts } = entity;
  const host = getHost(record);
  if (host === null) throw refusal('internal', `${id} is warm, and on no host.`);
  const within = { scheduleToCloseTimeout: timeouts.greetMs, retry: { maximumAttempts: 1 } };
  const answer = await onHost(host, within)
    .greet({ sandboxId: id, source: spec.source })
    .catch(() => null);
  if (answer === null) throw refusal('sandbox_not_running', `${id} does not answer.`);
  if (answer.content !== membershipOf(entity).content)
    throw refusal('sandbox_not_running', `The source of ${id} has changed.`);
}

/** @throws ApplicationFailure why it can't be claimed */
function check(entity: SandboxEntity, { spec, size, actor }: ClaimRequest): void {
  const { id, record } = entity;
  const { claimedBy } = membershipOf(entity);
  if (record.project !== NO_PROJECT && record.project !== actor.project)
    throw refusal('sandbox_not_found', `There is no sandbox ${id}.`);
  if (claimedBy !== null) throw refusal('sandbox_busy', `${id} is another's.`);
  entity.checkLiving();
  if (record.state !== 'warm') throw refusal('sandbox_not_running', `${id} is ${record.state}.`);
  if (Date.parse(record.expiresAt) - Date.now() < MIN_CLAIM_TTL_MS) {
    throw refusal('sandbox_not_running', `${id} is too old.`);
  }
  const own = record.spec;
  const isMatching =
    spec.source === own.source &&
    spec.network.egress === own.network.egress &&
    size.cpus === record.size?.cpus &&
    size.memoryMib === record.size.memoryMib;
  if (!isMatching) throw refusal('sandbox_not_running', `${id} is not what is asked for.`);
}

function membershipOf({ record }: SandboxEntity): Membership {
  const { pool, id } = record;
  if (pool) return pool;
  throw refusal('sandbox_not_running', `${id} is no pool's.`);
}
