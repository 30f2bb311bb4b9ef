import { MayflyError } from '../model/errors.ts';
import type { HostRecord } from '../model/host.ts';
import { HOST_STALE_SECONDS } from '../model/host.ts';
import type { Store } from '../store/connect.ts';

export function isLive(host: HostRecord, now = Date.now()): boolean {
  return now - Date.parse(host.lastSeenAt) <= HOST_STALE_SECONDS * 1_000;
}

/**
 * Refuses, before anything is made, what no host could do. Whether a host has room is its own to say, in the saga.
 * @throws MayflyError no_host, source_not_found
 */
export async function refuseUnplaceable(store: Pick<Store, 'hosts'>, source: string): Promise<void> {
  const hosts = await store.hosts.list();
  const live = hosts.filter((host) => isLive(host));
  if (live.length === 0) {
    throw new MayflyError(
      'no_host',
      `None of ${hosts.length} known hosts was heard of within ${HOST_STALE_SECONDS} s.`,
    );
  }
  if (live.some((host) => hasSource(host, source))) return;
  const away = hosts.filter((host) => hasSource(host, source)).map((host) => host.id);
  if (away.length > 0)
    throw new MayflyError('no_host', `Only hosts that are away have that source: ${away.join(', ')}.`);
  throw new MayflyError('source_not_found', `No host has a source named ${JSON.stringify(source)}.`);
}

function hasSource(host: HostRecord, name: string): boolean {
  return host.sources.some((source) => source.name === name);
}
