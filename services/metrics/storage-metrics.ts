import type { Registry } from 'prom-client';
import { SPACE_SUSPENSION_CAUSES } from '../../model/sandbox/sandbox.ts';
import { sumOf } from '../../model/snapshots/storage.ts';
import type { Store } from '../../store/connect.ts';
import { storedParts } from '../../store/stored-parts.ts';
import { gaugeOf } from './gauge.ts';

/** Gauges of what takes room on hosts. */
export function storageGauges(store: Store, registry: Registry): () => Promise<void> {
  const stored = gaugeOf(
    registry,
    'mayfly_stored_bytes',
    'Bytes on the disks of hosts: workspaces as last measured, snapshots as saved',
    'host',
    'kind',
  );
  const ofKeys = gaugeOf(registry, 'mayfly_key_stored_bytes', 'Of API keys that have a quota', 'api_key');
  const quotas = gaugeOf(registry, 'mayfly_key_quota_bytes', 'How much an API key may store in all', 'api_key');
  const free = gaugeOf(
    registry,
    'mayfly_host_disk_available_bytes',
    'Free on the disk of a host when it last described itself',
    'host',
  );
  const stalled = gaugeOf(
    registry,
    'mayfly_sandboxes_stalled',
    'Sandboxes that their host has paused until there is room',
    'cause',
  );
  return async () => {
    const [parts, hosts, limited, paused] = await Promise.all([
      storedParts(store),
      store.hosts.list(),
      store.apiKeys.limited(),
      store.sandboxes.all(['paused']),
    ]);
    for (const gauge of [stored, ofKeys, quotas, free, stalled]) gauge.reset();
    for (const { hostId, kind, bytes } of parts) stored.inc({ host: hostId ?? 'none', kind }, bytes);
    for (const { id, diskBytes } of limited) {
      ofKeys.set({ api_key: id }, sumOf(parts.filter(({ apiKeyId }) => apiKeyId === id)));
      if (diskBytes !== null) quotas.set({ api_key: id }, diskBytes);
    }
    for (const { id, capacity } of hosts) free.set({ host: id }, capacity.diskAvailableBytes);
    for (const cause of SPACE_SUSPENSION_CAUSES) {
      stalled.set({ cause }, paused.filter(({ stalledBy }) => stalledBy === cause).length);
    }
  };
}
