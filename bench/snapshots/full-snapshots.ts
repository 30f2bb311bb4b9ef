import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Virsh } from '../../host/libvirt/client/virsh.ts';
import { ID_BYTES, snapshotIdFrom } from '../../model/ids.ts';
import { Samples, type Spread } from '../measure/measure.ts';
import { takePlainSnapshot } from './plain-snapshot.ts';
import { context, type SnapshotBench } from './snapshot-bench.ts';

const ROUNDS = 3;

/** Memory and disks, and back again: through the API, by our host's steps called directly, and by libvirt alone. */
export async function measureFull(
  bench: SnapshotBench,
  { ours, direct, plain }: { ours: string; direct: string; plain: string },
  taken: string[],
): Promise<Record<string, Spread>> {
  const { client, host, sandboxesDir } = bench;
  const virsh = new Virsh(host.uri);
  const samples = new Samples();
  for (let turn = 0; turn < ROUNDS; turn++) {
    const { id, state } = await samples.time('full snapshot through the API, until ready', () =>
      client.snapshots.take(ours, { kind: 'full' }, { waitSeconds: 120 }),
    );
    if (state !== 'ready') throw new Error(`${id} is ${state}`);
    await samples.time('restore through the API, until running', () =>
      client.snapshots.restore(ours, { snapshotId: id, keepCurrent: false }, { waitSeconds: 240 }),
    );
    const snapshotId = snapshotIdFrom(randomBytes(ID_BYTES));
    taken.push(snapshotId);
    const request = { snapshotId, sandboxId: direct, kind: 'full' } as const;
    await samples.time('directly: full save', () => host.snapshots.save(request, context()));
    await samples.time('directly: full verify', () => host.snapshots.verify(snapshotId, context()));
    await host.removeDomain(direct);
    await host.snapshots.revert({ sandboxId: direct, snapshotId, restoreId: `bench-${turn}` }, context());
    await samples.time('directly: wake and renew', () => host.bootDomain(direct, context()));
    await samples.time('virsh snapshot-create-as --live --memspec', () => takePlainSnapshot(bench, plain, true));
    const memory = join(sandboxesDir, plain, 'memory');
    await virsh.run(['save', plain, memory]);
    await samples.time('virsh restore', () => virsh.run(['restore', memory]));
  }
  return samples.spreads();
}
