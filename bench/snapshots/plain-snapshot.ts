import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Virsh } from '../../host/libvirt/client/virsh.ts';
import type { SnapshotBench } from './snapshot-bench.ts';

/** What libvirt does alone; the new layers go with the sandbox's workspace. */
export async function takePlainSnapshot(
  { host, sandboxesDir }: SnapshotBench,
  sandboxId: string,
  withMemory = false,
): Promise<void> {
  const layer = join(sandboxesDir, sandboxId, `plain-${randomBytes(4).toString('hex')}.qcow2`);
  const what = withMemory ? ['--live', '--memspec', `file=${layer}.memory`] : ['--disk-only', '--quiesce'];
  const flags = [...what, '--atomic', '--no-metadata', '--diskspec', 'sda,snapshot=no'];
  await new Virsh(host.uri).run(['snapshot-create-as', sandboxId, ...flags, '--diskspec', `vda,file=${layer}`]);
}
