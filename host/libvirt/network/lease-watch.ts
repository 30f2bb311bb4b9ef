import { watch } from 'node:fs';
import type { DhcpLease, Leases } from './leases.ts';

/** Longest interval between two polls, in case a file system event is lost. Milliseconds. */
const MAX_POLL_INTERVAL_MS = 1_000;

/**
 * Polls after every change in dnsmasq's folder; between polls, at least once a second, `meanwhile` is called, and its
 * error ends the wait. @throws the signal's reason when aborted
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
  const onChange = () => {
    changed = true;
    wake();
  };
  const watcher = watch(leases.folder, onChange);
  // a broken watcher only slows this down: polling once a second continues
  watcher.on('error', onChange);
  signal.addEventListener('abort', onChange);
  try {
    for (let checkedAt = 0; ; ) {
      changed = false;
      const lease = await leases.current(macAddress);
      signal.throwIfAborted();
      if (lease) return lease;
      if (Date.now() - checkedAt >= MAX_POLL_INTERVAL_MS) {
        checkedAt = Date.now();
        await meanwhile();
      }
      if (changed) continue;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, MAX_POLL_INTERVAL_MS);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  } finally {
    watcher.close();
    signal.removeEventListener('abort', onChange);
  }
}
