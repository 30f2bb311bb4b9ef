import { watch } from 'node:fs';
import type { DhcpLease, Leases } from './leases.ts';

/** Looks at least this often, should an event of the file system get lost. Milliseconds. */
const LOOK_AT_LEAST_MS = 1_000;

/**
 * Every change in dnsmasq's folder is followed by a look; between looks, at least once a second, `meanwhile` is
 * called, and what it throws ends the wait. @throws the signal's reason when aborted
 */
export async function watchForLease(
  leases: Leases,
  macAddress: string,
  signal: AbortSignal,
  meanwhile: () => Promise<void>,
): Promise<DhcpLease> {
  signal.throwIfAborted();
  let changed = false;
  let wake = () => {};
  const notice = () => {
    changed = true;
    wake();
  };
  const watcher = watch(leases.folder, notice);
  // a watcher that broke only makes us slower: the looks once a second go on
  watcher.on('error', notice);
  signal.addEventListener('abort', notice);
  try {
    for (let checkedAt = 0; ; ) {
      changed = false;
      const lease = await leases.current(macAddress);
      signal.throwIfAborted();
      if (lease) return lease;
      if (Date.now() - checkedAt >= LOOK_AT_LEAST_MS) {
        checkedAt = Date.now();
        await meanwhile();
      }
      if (changed) continue;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, LOOK_AT_LEAST_MS);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  } finally {
    watcher.close();
    signal.removeEventListener('abort', notice);
  }
}
