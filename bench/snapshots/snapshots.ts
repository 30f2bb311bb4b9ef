import { randomBytes } from 'node:crypto';
import type { MayflyClient } from '../../client/mayfly-client.ts';
import { ID_BYTES, snapshotIdFrom } from '../../model/ids.ts';
import { LONGEST_CHAIN, type SnapshotKind } from '../../model/snapshots/snapshot.ts';
import { Samples, type Spread } from '../measure/measure.ts';
import { measureChain } from './chain.ts';
import { type ForkFigures, measureForks } from './forks.ts';
import { measureFull } from './full-snapshots.ts';
import { takePlainSnapshot } from './plain-snapshot.ts';
import { context, MAX_WAIT_SECONDS, type SnapshotBench } from './snapshot-bench.ts';

const FILES = 10_000;

export interface SnapshotFigures {
  /** A snapshot by ourselves and by the plain tool, taking turns on equal machines. */
  snapshots: Record<string, Spread>;
  /** What changed between two snapshots, of which one has so many files more. */
  diff: { files: number; found: number } & Record<'ms', Spread>;
  chain: Awaited<ReturnType<typeof measureChain>>;
  forks: Record<SnapshotKind, ForkFigures>;
  /** Memory and disks, and back again, by ourselves and by libvirt. */
  full: Record<string, Spread>;
}

/** Snapshots and what is made of them, on real machines; all it makes is destroyed with its sandboxes, or removed. */
export async function measureSnapshots(bench: SnapshotBench): Promise<SnapshotFigures> {
  const { client, host, source } = bench;
  const made = await Promise.all(
    ['ours', 'direct', 'plain'].map(() => client.createSandbox({ source }, { waitSeconds: MAX_WAIT_SECONDS })),
  );
  const [ours = '', direct = '', plain = ''] = made.map(({ id }) => id);
  const taken: string[] = [];
  const take = async (samples: Samples) => {
    const snapshotId = snapshotIdFrom(randomBytes(ID_BYTES));
    taken.push(snapshotId);
    await samples.time('directly: save', () =>
      host.snapshots.save({ snapshotId, sandboxId: direct, kind: 'disk' }, context()),
    );
    await samples.time('directly: verify', () => host.snapshots.verify(snapshotId, context()));
    return snapshotId;
  };
  try {
    const snapshots = await besidePlain(bench, { ours, direct, plain }, take);
    const diff = await measureDiff(bench, direct, () => take(new Samples()));
    const chain = await measureChain(bench, direct, async () => {
      await dirty(client, direct);
      return await take(new Samples());
    });
    const full = await measureFull(bench, { ours, direct, plain }, taken);
    const forks = { disk: await measureForks(bench, ours, 'disk'), full: await measureForks(bench, ours, 'full') };
    return { snapshots, diff, chain, full, forks };
  } finally {
    for (const { id } of made) await client.destroySandbox(id, { waitSeconds: MAX_WAIT_SECONDS });
    for (const id of taken) await host.snapshots.remove(id);
    await deleteAll(client, ours);
  }
}

/** In each round the same is written in three equal machines, and each is saved in its way, in another order each time. */
async function besidePlain(
  bench: SnapshotBench,
  { ours, direct, plain }: { ours: string; direct: string; plain: string },
  take: (samples: Samples) => Promise<string>,
): Promise<Record<string, Spread>> {
  const { client, host, rounds } = bench;
  const samples = new Samples();
  const ways = [
    () => samples.time('through the API, until ready', () => client.snapshots.take(ours, {}, { waitSeconds: 120 })),
    () => samples.time('directly: save and verify', () => take(samples)),
    () => samples.time('virsh snapshot-create-as --disk-only --quiesce', () => takePlainSnapshot(bench, plain)),
  ];
  for (let turn = 0; turn < rounds; turn++) {
    for (const id of [ours, direct, plain]) await dirty(client, id);
    for (let n = 0; n < ways.length; n++) await ways[(turn + n) % ways.length]?.();
    const { steps } = await client.getSandbox(ours);
    for (const { step, startedAt, endedAt } of steps.slice(-2))
      samples.add(`of the saga: ${step}`, Date.parse(endedAt) - Date.parse(startedAt));
    if ((await host.snapshots.chainLength(direct)) > LONGEST_CHAIN) {
      await samples.time('directly: flatten', () => host.snapshots.flatten(direct, context()));
    }
  }
  return samples.spreads();
}

async function dirty(client: MayflyClient, sandboxId: string): Promise<void> {
  await run(client, sandboxId, 'dd if=/dev/urandom of=own bs=1M count=4 status=none');
}

async function run(client: MayflyClient, sandboxId: string, command: string): Promise<void> {
  const { outcome, exitCode } = await client.commands.run(sandboxId, { command }, { waitSeconds: MAX_WAIT_SECONDS });
  if (exitCode !== 0) throw new Error(`${command} in ${sandboxId}: ${outcome}, ${exitCode}`);
}

async function measureDiff(
  { client, host, rounds }: SnapshotBench,
  sandboxId: string,
  take: () => Promise<string>,
): Promise<SnapshotFigures['diff']> {
  const before = await take();
  const files = `mkdir -p many && cd many && for n in $(seq ${FILES}); do echo "$n" > "f$n"; done; sync`;
  await run(client, sandboxId, files);
  const after = await take();
  const samples = new Samples();
  let found = 0;
  for (let turn = 0; turn < rounds; turn++) {
    found = 0;
    await samples.time('diff', async () => {
      for await (const line of host.snapshots.compare({ before, after, within: [] }, context().signal)) {
        if ('change' in line) found++;
      }
    });
  }
  const { diff: ms } = samples.spreads();
  if (!ms) throw new Error('the diff was not measured');
  return { files: FILES, found, ms };
}

async function deleteAll(client: MayflyClient, sandboxId: string): Promise<void> {
  const { items } = await client.snapshots.list(sandboxId, { limit: 200 });
  for (const { id } of items) await client.snapshots.delete(id, { waitSeconds: 60 });
}
