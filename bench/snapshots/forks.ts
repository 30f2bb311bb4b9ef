import type { SnapshotKind } from '../../model/snapshots/snapshot.ts';
import { round } from '../measure/measure.ts';
import { MAX_WAIT_SECONDS, type SnapshotBench } from './snapshot-bench.ts';

const FORKS = 8;

export interface ForkFigures {
  asked: number;
  verified: number;
  /** Until all of them had an answer. */
  seconds: number;
  memoryMibEach: number;
  /** Why those are not verified that are not. */
  failures: string[];
}

/** So many forks at once: until the last of them is verified, and what memory each takes then. */
export async function measureForks(
  { client, host }: SnapshotBench,
  sandboxId: string,
  kind: SnapshotKind,
): Promise<ForkFigures> {
  const { id: snapshotId } = await client.snapshots.take(sandboxId, { kind }, { waitSeconds: 120 });
  const began = performance.now();
  const options = { waitSeconds: MAX_WAIT_SECONDS };
  const forks = await client.snapshots.fork({ snapshotId, count: FORKS }, options);
  const seconds = round((performance.now() - began) / 1_000);
  const made = forks.flatMap((fork) => ('sandbox' in fork ? [fork.sandbox] : []));
  const running = made.filter(({ state }) => state === 'running');
  const failures = forks.flatMap((fork) => {
    if ('problem' in fork) return [fork.problem.detail ?? fork.problem.title];
    const { state, failure } = fork.sandbox;
    return state === 'running' ? [] : [`${state}: ${failure?.step} ${failure?.code} ${failure?.message}`];
  });
  const used = await Promise.all(running.map(({ id }) => host.residentMib(id)));
  const memoryMib = used.reduce((sum, mib) => sum + mib, 0);
  for (const { id } of made) await client.destroySandbox(id, options);
  const memoryMibEach = running.length === 0 ? 0 : round(memoryMib / running.length);
  return { asked: FORKS, verified: running.length, seconds, memoryMibEach, failures };
}
