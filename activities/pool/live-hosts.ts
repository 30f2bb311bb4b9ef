import { MayflyError } from '../../model/errors.ts';
import { HOST_STALE_SECONDS, type HostRecord, isPlaceable, selectHostsWithSource } from '../../model/host.ts';
import { describeMissingSource } from '../../model/image/own-images.ts';
import type { Store } from '../../store/connect.ts';

/** Returns the hosts open for placement. @throws MayflyError no_host */
export async function liveHosts({ hosts }: Pick<Store, 'hosts'>): Promise<HostRecord[]> {
  const live = (await hosts.list()).filter((host) => isPlaceable(host));
  if (live.length > 0) return live;
  const seen = `in the last ${HOST_STALE_SECONDS} s`;
  throw new MayflyError('no_host', `no host worker has described itself ${seen} that is not drained`);
}

/** @throws MayflyError source_not_found */
export function requireHolding(live: HostRecord[], source: string): HostRecord[] {
  const hosts = selectHostsWithSource(live, source);
  if (hosts.length > 0) return hosts;
  throw new MayflyError('source_not_found', describeMissingSource(source, live));
}
