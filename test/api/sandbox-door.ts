import { beforeEach } from 'vitest';
import type { SandboxView } from '../../api/resources/sandbox-schemas.ts';
import type { SnapshotView } from '../../api/snapshots/snapshots.ts';
import type { SnapshotState } from '../../model/snapshots/snapshot.ts';
import { host, jsonOf, useDoor } from './support.ts';

export type Headers = Record<string, string>;

/** Opens the API for the tests of a file; each test gets a sandbox that can be snapshotted. */
export function useSandbox() {
  const door = useDoor();
  let sandboxId = '';
  beforeEach(async () => {
    const { sagas, store } = door;
    sagas.outcome = 'running';
    sagas.failing = null;
    sagas.refusal = null;
    await store.hosts.describe(host('kvm-1'));
    ({ id: sandboxId } = await jsonOf<SandboxView>(door.call('POST', '/v1/sandboxes', { source: 'golden' })));
    sagas.operations = [];
    sagas.started = [];
  });

  const take = (body: object = {}, headers: Headers = {}) =>
    door.call('POST', `/v1/sandboxes/${sandboxId}/snapshots`, body, headers);
  const taken = () => jsonOf<SnapshotView>(take());
  async function inState(state: SnapshotState): Promise<SnapshotView> {
    const snapshot = await taken();
    await door.store.snapshots.update(snapshot.id, { state });
    return snapshot;
  }
  return { door: () => door, sandboxId: () => sandboxId, take, taken, inState };
}
