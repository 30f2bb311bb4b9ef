import { beforeEach } from 'vitest';
import type { SandboxView } from '../../api/resources/sandbox-schemas.ts';
import type { SnapshotView } from '../../api/snapshots/snapshots.ts';
import type { DiffLine } from '../../clients/typescript/http/openapi.ts';
import type { SavedSnapshot } from '../../model/snapshots/snapshot.ts';
import type { Problem } from '../../services/problems/problem.ts';
import { openDiffDoor } from '../support/compared-snapshots.ts';
import { useOpened } from '../support/use-opened.ts';
import { jsonOf } from './support.ts';

/** Opens the API for the tests of a file; each test gets a sandbox with snapshots `a` and `b`, an hour younger. */
export function useCompared() {
  const compared = useOpened(openDiffDoor, (opened) => opened.close());
  let [a, b, sandboxId] = ['', '', ''];
  const door = () => compared().door;
  const snapshots = () => compared().snapshots;

  beforeEach(async () => {
    door().sagas.outcome = 'running';
    door().sagas.refusal = null;
    sandboxId = await newSandbox();
    a = await taken(sandboxId, '2026-11-21T10:00:00.000Z');
    b = await taken(sandboxId, '2026-11-21T11:00:00.000Z');
    door().sagas.operations = [];
    snapshots().asked = [];
    snapshots().files.clear();
    snapshots().say();
  });

  async function newSandbox(spec: object = { source: 'golden' }): Promise<string> {
    const { id } = await jsonOf<SandboxView>(door().call('POST', '/v1/sandboxes', spec));
    await door().store.sandboxes.update(id, { hostId: 'kvm-1' });
    return id;
  }

  async function taken(of: string, savedAt: string): Promise<string> {
    const { id } = await jsonOf<SnapshotView>(door().call('POST', `/v1/sandboxes/${of}/snapshots`, {}));
    const saved: SavedSnapshot = { kind: 'disk', disks: [], sizeBytes: 0, memoryBytes: null, quiesced: true, savedAt };
    await door().store.snapshots.update(id, { saved });
    return id;
  }

  const diff = (query = '', [from, to] = [a, b]) => door().call('GET', `/v1/snapshots/${from}/diff/${to}${query}`);
  const client = () => compared().client;
  return { door, snapshots, client, a: () => a, b: () => b, sandboxId: () => sandboxId, newSandbox, taken, diff };
}

export async function linesOf(response: Response): Promise<(DiffLine | { line: 'error'; problem: Problem })[]> {
  return (await response.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** Returns a stream that fails at once. */
export function fails(error: Error): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
}
