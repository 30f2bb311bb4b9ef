import type { Registry } from 'prom-client';
import { isLive, type StoredHost } from '../../model/host.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal, OPEN_STATES, SANDBOX_STATES, type SandboxState } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';
import { gaugeOf } from './pool-metrics.ts';

/** First words of `waitingFor`; everything else is `other`. Labels must stay bounded. */
const WAIT_REASONS = ['host', 'room', 'store', 'other'] as const;
const MAX_SAMPLED = 500;
const MIB = 1_048_576;

/** Registers gauges for operators: waiting sandboxes, live hosts, outcomes of creates. */
export function operatorGauges(store: Store, registry: Registry): () => Promise<void> {
  const sandboxes = gaugeOf(registry, 'mayfly_sandboxes', 'Recorded sandboxes by state', 'state');
  const measureWaiting = waitingGauges(registry);
  const measureHosts = hostGauges(registry);
  const measureCreates = createGauges(registry);
  return async () => {
    const [counts, page, hosts, alive] = await Promise.all([
      store.sandboxes.countByState(),
      store.sandboxes.list({ limit: MAX_SAMPLED }),
      store.hosts.list(),
      store.sandboxes.all(OPEN_STATES),
    ]);
    for (const state of SANDBOX_STATES) sandboxes.set({ state }, counts.get(state) ?? 0);
    measureWaiting(alive);
    measureHosts(hosts);
    measureCreates(counts, page.items);
  };
}

function waitingGauges(registry: Registry) {
  const waiting = gaugeOf(
    registry,
    'mayfly_sagas_waiting',
    'Sandboxes whose saga says that it waits, by what for',
    'for',
  );
  const oldest = gaugeOf(
    registry,
    'mayfly_cleanup_waiting_seconds',
    'How long the longest cleanup has been waiting; 0 when none waits',
  );
  return (alive: readonly SandboxRecord[]) => {
    const stuck = alive.filter(({ waitingFor }) => waitingFor !== null);
    for (const what of WAIT_REASONS) waiting.set({ for: what }, stuck.filter((one) => waitedFor(one) === what).length);
    const cleanups = stuck.filter(({ state }) => state === 'destroying');
    oldest.set(Math.max(0, ...cleanups.map(({ updatedAt }) => (Date.now() - Date.parse(updatedAt)) / 1_000)));
  };
}

function hostGauges(registry: Registry) {
  const count = gaugeOf(
    registry,
    'mayfly_hosts',
    'Hosts ever heard of, by whether they were heard of in the last 30 s',
    'state',
  );
  const promised = gaugeOf(
    registry,
    'mayfly_host_memory_promised_bytes',
    'Memory promised to sandboxes of a host, as it last described itself',
    'host',
  );
  const available = gaugeOf(
    registry,
    'mayfly_host_memory_available_bytes',
    'Memory free on a host, as it last described itself',
    'host',
  );
  return (hosts: readonly StoredHost[]) => {
    promised.reset();
    available.reset();
    const live = hosts.filter((host) => isLive(host));
    count.set({ state: 'live' }, live.length);
    count.set({ state: 'away' }, hosts.length - live.length);
    for (const { id, promised: has, capacity } of live) {
      promised.set({ host: id }, has.memoryMib * MIB);
      available.set({ host: id }, capacity.memoryAvailableMib * MIB);
    }
  };
}

function createGauges(registry: Registry) {
  const outcomes = gaugeOf(
    registry,
    'mayfly_creates',
    'Recorded sandboxes by how their create came out: running, failed, or not known yet',
    'outcome',
  );
  const failures = gaugeOf(
    registry,
    'mayfly_failed_sandboxes',
    'Of the latest 500 recorded sandboxes those that failed, by the code of the failure',
    'code',
  );
  const boots = gaugeOf(
    registry,
    'mayfly_boots',
    'Of the latest 500 recorded sandboxes, how they came to their machine, and why not quicker',
    'way',
    'why',
  );
  return (counts: ReadonlyMap<SandboxState, number>, latest: readonly SandboxRecord[]) => {
    failures.reset();
    boots.reset();
    const failed = counts.get('failed') ?? 0;
    const pending = (counts.get('requested') ?? 0) + (counts.get('creating') ?? 0);
    const all = [...counts.values()].reduce((sum, each) => sum + each, 0);
    outcomes.set({ outcome: 'failed' }, failed);
    outcomes.set({ outcome: 'pending' }, pending);
    outcomes.set({ outcome: 'ran' }, all - failed - pending);
    for (const { state, failure, boot } of latest) {
      if (isFinal(state) && failure) failures.inc({ code: failure.code });
      if (boot) boots.inc({ way: boot.way, why: boot.why ?? 'none' });
    }
  };
}

function waitedFor({ waitingFor, stalledBy }: SandboxRecord): (typeof WAIT_REASONS)[number] {
  if (stalledBy) return 'room';
  if (/store/i.test(waitingFor ?? '')) return 'store';
  return /host/i.test(waitingFor ?? '') ? 'host' : 'other';
}
