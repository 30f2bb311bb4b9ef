import { dirname, join } from 'node:path';
import { exec } from '../../host/os/exec.ts';
import { LONGEST_CHAIN } from '../../model/snapshots/snapshot.ts';
import { round } from '../measure/measure.ts';
import { context, type SnapshotBench } from './snapshot-bench.ts';

/** So much of the beginning of the disk is read, most of which the source has. Bytes. */
const READ_BYTES = 268_435_456;
const ROUNDS = 9;

/**
 * Takes many snapshots in a row, flattening as the entity does, and reads the same bytes in three of them, through all
 * that they refer to: the medians of rounds in which they take turns.
 */
export async function measureChain(
  { host, sandboxesDir, chain }: SnapshotBench,
  sandboxId: string,
  take: () => Promise<string>,
) {
  const depths = new Map<string, number>();
  let flattened = 0;
  for (let n = 0; n < chain; n++) {
    const id = await take();
    const depth = await host.snapshots.chainLength(sandboxId);
    depths.set(id, depth);
    if (depth <= LONGEST_CHAIN) continue;
    await host.snapshots.flatten(sandboxId, context());
    flattened++;
  }
  const ids = [...depths.keys()];
  const deepest = Math.max(...depths.values());
  const chosen = { first: ids[0], last: ids.at(-1), deepest: ids.find((id) => depths.get(id) === deepest) };
  const snapshots = join(dirname(sandboxesDir), 'snapshots');
  const times: Record<string, number[]> = {};
  for (let turn = 0; turn < ROUNDS; turn++) {
    for (const [name, id = ''] of Object.entries(chosen)) {
      const took = await readingTime(join(snapshots, id, 'vda.qcow2'));
      times[name] = [...(times[name] ?? []), took];
    }
  }
  const readMs = Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, round(median(ms))]));
  return { snapshots: chain, flattened, deepest, readMs };
}

async function readingTime(image: string): Promise<number> {
  const began = performance.now();
  const read = `read -q 0 ${READ_BYTES}`;
  await exec('qemu-io', ['-r', '-U', '-f', 'qcow2', '-c', read, '-c', read, image]);
  return performance.now() - began;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
