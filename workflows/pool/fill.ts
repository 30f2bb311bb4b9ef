import type { HostRef } from '../../model/host.ts';
import { planOf } from '../../model/pools/plan.ts';
import { isShared, type PoolMember, type PoolSight } from '../../model/pools/pool-saga.ts';
import { hostQueue } from '../../model/sagas/queues.ts';
import { hostOf } from '../../model/sandbox/sandbox-state.ts';
import { controlUntilDone } from '../saga/control.ts';
import { onHost } from '../saga/host-activities.ts';
import { PROFILE } from '../saga/profiles.ts';
import { Maker } from './maker.ts';
import { FAILURES, retryAtOf } from './pausing.ts';
import type { PoolLife } from './pool-life.ts';
import { retireMembers } from './retiring.ts';

/** Timeouts of a host's probe of its guests. Milliseconds. */
const LOOK = { startMs: 2_000, withinMs: 8_000 };

/** Reconciles the members of a pool once. @returns pause until the next round, ms */
export async function fill(life: PoolLife): Promise<number> {
  const { project, name, source } = life.record;
  const making = [...life.makers];
  const sight = await controlUntilDone.sightOfPool({ project, name, source });
  life.countIdle(sight.members);
  const silent = await silentOf(sight.members.filter(({ stage }) => stage === 'warm'));
  const seen = new Set(sight.members.map(({ sandboxId }) => sandboxId));
  const begun = making.filter(({ sandboxId }) => sandboxId === null || !seen.has(sandboxId)).length;
  const { record, demand, refillSeconds, shrunkAt, times } = life;
  const standing = { wish: record, revision: record.revision, demand, refillSeconds, shrunkAt, times, begun, silent };
  const plan = planOf(sight, standing, Date.now());
  if (plan.isShrinking || countOf(sight) <= plan.wanted) life.shrunkAt = Date.now();
  await retireMembers(plan.retire);
  const waitMs = mayMake(life, sight, plan.make);
  if (waitMs === 0) for (let n = 0; n < plan.make; n++) void new Maker(life).run();
  await note(life, sight, plan.wanted);
  if (waitMs > 0) return Math.min(waitMs, times.lookMs);
  return plan.isWaiting ? Math.min(times.quietMs, times.lookMs) : times.lookMs;
}

function countOf({ members }: PoolSight): number {
  return members.filter(({ stage }) => stage !== 'ending').length;
}

/** Probes each host once. A host that does not answer reports dead machines to their workflows when it is back. */
async function silentOf(members: readonly PoolMember[]): Promise<ReadonlySet<string>> {
  const byQueue = new Map<string, { host: HostRef; sandboxIds: string[] }>();
  for (const member of members) {
    const host = hostOf(member);
    if (!host) continue;
    const { sandboxIds = [] } = byQueue.get(hostQueue(host)) ?? {};
    byQueue.set(hostQueue(host), { host, sandboxIds: [...sandboxIds, member.sandboxId] });
  }
  const profile = PROFILE.probe(LOOK.withinMs, LOOK.startMs, 1);
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
function mayMake(life: PoolLife, { creates }: PoolSight, count: number): number {
  const { times, usedAt } = life;
  const at = Date.now();
  if (count === 0) {
    life.yieldingSince = null;
    return 0;
  }
  const retryMs = retryAtOf(life) - at;
  if (retryMs > 0) return retryMs;
  const isBusy = creates > 0 || at - usedAt < times.quietMs;
  life.yieldingSince ??= at;
  if (isBusy && at - life.yieldingSince < times.patienceMs) return times.quietMs;
  life.yieldingSince = null;
  return 0;
}

/** Records the state of the pool, and why members are missing. */
async function note(life: PoolLife, { members, isRecorded }: PoolSight, wanted: number): Promise<void> {
  const { failures, record, isDeleting } = life;
  if (isDeleting) return;
  const isDegraded = failures.length >= FAILURES;
  const ready = members.filter(({ stage, revision }) => stage === 'warm' && revision === record.revision).length;
  const state = isDegraded ? 'degraded' : ready >= wanted ? 'ready' : 'filling';
  const filled = isShared(record) && { refills: life.refillsWith(state === 'ready', wanted) };
  const { code, message } = failures.at(-1) ?? { code: null, message: null };
  const reason = code === null ? null : `${code}: ${message}`;
  const retryAt = isDegraded ? new Date(retryAtOf(life)).toISOString() : null;
  await life.change({ state, wanted, ...filled, reason, retryAt }, !isRecorded);
}
