import { deriveSourceId } from '../../model/ids.ts';
import type { Store } from '../../store/connect.ts';

type Records = Pick<Store, 'sandboxes' | 'snapshots' | 'captures' | 'sources' | 'bakedSources'>;

/**
 * Lists the audit chains that the records of an installation require, by sandbox or source, each with the snapshots or
 * captures that it must mention. Merely requested resources are left out: they may not be in a chain yet.
 */
export async function expectedChains(store: Records): Promise<Map<string, string[]>> {
  const [sandboxes, snapshots, captures, prepared, baked] = await Promise.all([
    store.sandboxes.all(),
    store.snapshots.all(['ready', 'deleting', 'deleted']),
    store.captures.all(['ready', 'deleting', 'deleted']),
    store.sources.prepared(),
    store.bakedSources.all(['ready', 'deleting', 'deleted']),
  ]);
  const begun = sandboxes.filter(({ state }) => state !== 'requested');
  const expected = new Map<string, string[]>([...begun, ...prepared, ...baked].map(({ id }) => [id, []]));
  const told = [
    ...snapshots.map(({ id, sandboxId }) => [sandboxId, id] as const),
    ...captures.map(({ id, hostId, source }) => [deriveSourceId(hostId, source), id] as const),
  ];
  for (const [subject, id] of told) expected.set(subject, [...(expected.get(subject) ?? []), id]);
  return expected;
}
