import type { HostRef } from '../../model/host.ts';
import { planPool } from '../../model/pools/plan.ts';
import { isShared, type PoolMember, type PoolObservation } from '../../model/pools/pool-saga.ts';
import { hostQueue } from '../../model/sagas/queues.ts';
import { getHost } from '../../model/sandbox/sandbox-state.ts';
import { controlUntilDone } from '../saga/control.ts';
import { onHost } from '../saga/host-activities.ts';
import { PROFILE } from '../saga/profiles.ts';
import { MemberCreation } from './maker.ts';
import { backoffEnd, FAILURES } from './pausing.ts';
import type { PoolState } from './pool-life.ts';
import { retireMembers } from './retiring.ts';

/** Timeouts of a host's probe of its guests. Milliseconds. */
const PROBE_TIMEOUTS = { startMs: 2_000, withinMs: 8_000 };

/** Reconciles the members of a pool once. @returns pause until the next round, ms */
export async function reconcileMembers(life: PoolState): Promise<number> {
  const { project, name, source } = life.record;
  const inFlight = [...life.makers];
  const observation = await controlUntilDone.sightOfPool({ project, name, source });
  life.countIdle(observation.members);
  const silent = await findUnresponsive(observation.members.filter(({ stage }) => stage === 'warm'));
  const seen = new Set(observation.members.map(({ sandboxId }) => sandboxId));
  const begun = inFlight.filter(({ sandboxId }) => sandboxId === null || !seen.has(sandboxId)).length;
  const { record, demand, refillSeconds, shrunkAt, times } = life;
  const inputs = { wish: record, revision: record.revision, demand, refillSeconds, shrunkAt, times, begun, silent };
  const plan = planPool(observation, inputs, Date.now());
  if (plan.isShrinking || countOf(observation) <= plan.wanted) life.shrunkAt = Date.now();
  await retireMembers(plan.retire);
  const waitMs = creationDelayMs(life, observation, plan.make);
  if (waitMs === 0) for (let n = 0; n < plan.make; n++) void new MemberCreation(life).run();
  await recordState(life, observation, plan.wanted);
  if (waitMs > 0) return Math.min(waitMs, times.lookMs);
  return plan.isWaiting ? Math.min(times.quietMs, times.lookMs) : times.lookMs;
}

function countOf({ members }: PoolObservation): number {
  return members.filter(({ stage }) => stage !== 'ending').length;
}

/** Probes each host once. A host that does not answer reports dead machines to their workflows when it is back. */
async function findUnresponsive(members: readonly PoolMember[]): Promise<ReadonlySet<string>> {
  const byQueue = new Map<string, { host: HostRef; sandboxIds: string[] }>();
  for (const member of members) {
    const host = getHost(member);
    if (!host) continue;
    const { sandboxIds = [] } = byQueue.get(hostQueue(host)) ?? {};
    byQueue.set(hostQueue(host), { host, sandboxIds: [...sandboxIds, member.sandboxId] });
  }
  const profile = PROFILE.probe(PROBE_TIMEOUTS.withinMs, PROBE_TIMEOUTS.startMs, 1);
  const silent = await Promise.all(
    [...byQueue.values()].map(({ host, sandboxIds }) =>
      onHost(host, profile)
        .silentAmong({ sandboxIds })
        .catch(() => ({ sandboxIds: [] })),
    ),
  );
  return new Set(silent.flatMap(({ sandboxIds }) => sandboxIds));
}

/**
 * Decides when to create members: after concurrent claims and creates, up to a limit, and after a backoff for failures.
 * @returns delay before the creation, ms; 0: none
 */
function creationDelayMs(life: PoolState, { creates }: PoolObservation, count: number): number {
  const { times, usedAt } = life;
  const at = Date.now();
  if (count === 0) {
    life.yieldingSince = null;
    return 0;
  }
  const retryMs = backoffEnd(life) - at;
  if (retryMs > 0) return retryMs;
  const isBusy = creates > 0 || at - usedAt < times.quietMs;
  life.yieldingSince ??= at;
  if (isBusy && at - life.yieldingSince < times.patienceMs) return times.quietMs;
  life.yieldingSince = null;
  return 0;
}

/** Records the state of the pool, and why members are missing. */
async function recordState(life: PoolState, { members, isRecorded }: PoolObservation, wanted: number): Promise<void> {
  const { failures, record, isDeleting } = life;
  if (isDeleting) return;
  const isDegraded = failures.length >= FAILURES;
  const ready = members.filter(({ stage, revision }) => stage === 'warm' && revision === record.revision).length;
  const state = isDegraded ? 'degraded' : ready >= wanted ? 'ready' : 'filling';
  const filled = isShared(record) && { refills: life.refillsWith(state === 'ready', wanted) };
  const { code, message } = failures.at(-1) ?? { code: null, message: null };
  const reason = code === null ? null : `${code}: ${message}`;
  const retryAt = isDegraded ? new Date(backoffEnd(life)).toISOString() : null;
  await life.change({ state, wanted, ...filled, reason, retryAt }, !isRecorded);
}
