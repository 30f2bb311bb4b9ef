import { Gauge, type Registry } from 'prom-client';
import { isLive } from '../../model/host.ts';
import { isFinal, LIVING_STATES, type SandboxRecord, type SandboxState } from '../../model/sandbox/sandbox.ts';
import type { Store } from '../../store/connect.ts';

/** What the words of `waitingFor` begin with; all else is `other`. A label must not grow with what is waited for. */
const WAITED_FOR = ['host', 'room', 'store', 'other'] as const;

type Counts = ReadonlyMap<SandboxState, number>;

/** What operators watch besides counts: who waits, since when, which hosts are alive, how creates came out. */
export function operatorGauges(store: Store, registry: Registry): (counts: Counts) => Promise<void> {
  const registers = [registry];
  const waiting = new Gauge({
    name: 'mayfly_sagas_waiting',
    help: 'Sandboxes whose saga says that it waits, by what for',
    labelNames: ['for'] as const,
    registers,
  });
  const oldest = new Gauge({
    name: 'mayfly_cleanup_waiting_seconds',
    help: 'How long the longest cleanup has been waiting; 0 when none waits',
    registers,
  });
  const hosts = new Gauge({
    name: 'mayfly_hosts',
    help: 'Hosts ever heard of, by whether they were heard of in the last 30 s',
    labelNames: ['state'] as const,
    registers,
  });
  const promised = new Gauge({
    name: 'mayfly_host_memory_promised_bytes',
    help: 'Memory promised to sandboxes of a host, as it last described itself',
    labelNames: ['host'] as const,
    registers,
  });
  const available = new Gauge({
    name: 'mayfly_host_memory_available_bytes',
    help: 'Memory free on a host, as it last described itself',
    labelNames: ['host'] as const,
    registers,
  });
  const outcomes = new Gauge({
    name: 'mayfly_creates',
    help: 'Recorded sandboxes by how their create came out: running, failed, or not known yet',
    labelNames: ['outcome'] as const,
    registers,
  });
  const failures = new Gauge({
    name: 'mayfly_failed_sandboxes',
    help: 'Of the latest 500 recorded sandboxes those that failed, by the code of the failure',
    labelNames: ['code'] as const,
    registers,
  });
  const boots = new Gauge({
    name: 'mayfly_boots',
    help: 'Of the latest 500 recorded sandboxes, how they came to their machine, and why not quicker',
    labelNames: ['way', 'why'] as const,
    registers,
  });
  return async (counts) => {
    const [page, known, alive] = await Promise.all([
      store.sandboxes.list({ limit: LATEST }),
      store.hosts.list(),
      store.sandboxes.all(LIVING_STATES),
    ]);
    const stuck = alive.filter(({ waitingFor }) => waitingFor !== null);
    for (const what of WAITED_FOR) waiting.set({ for: what }, stuck.filter((one) => waitedFor(one) === what).length);
    const cleanups = stuck.filter(({ state }) => state === 'destroying');
    const ages = cleanups.map(({ updatedAt }) => (Date.now() - Date.parse(updatedAt)) / 1_000);
    oldest.set(Math.max(0, ...ages));
    for (const gauge of [promised, available, failures, boots]) gauge.reset();
    const live = known.filter((host) => isLive(host));
    hosts.set({ state: 'live' }, live.length);
    hosts.set({ state: 'away' }, known.length - live.length);
    for (const { id, promised: has, capacity } of live) {
      promised.set({ host: id }, has.memoryMib * MIB);
      available.set({ host: id }, capacity.memoryAvailableMib * MIB);
    }
    const failed = counts.get('failed') ?? 0;
    const pending = (counts.get('requested') ?? 0) + (counts.get('creating') ?? 0);
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
    outcomes.set({ outcome: 'failed' }, failed);
    outcomes.set({ outcome: 'pending' }, pending);
    outcomes.set({ outcome: 'ran' }, all - failed - pending);
    for (const { state, failure, boot } of page.items) {
      if (isFinal(state) && failure) failures.inc({ code: failure.code });
      if (boot) boots.inc({ way: boot.way, why: boot.why ?? 'none' });
    }
  };
}

const LATEST = 500;
const MIB = 1_048_576;

function waitedFor({ waitingFor, stalledBy }: SandboxRecord): (typeof WAITED_FOR)[number] {
  if (stalledBy) return 'room';
  if (/store/i.test(waitingFor ?? '')) return 'store';
  return /host/i.test(waitingFor ?? '') ? 'host' : 'other';
}
