import type { MayflyClient } from '../../client/mayfly-client.ts';
import type { LibvirtHypervisor } from '../../host/libvirt/driver.ts';
import type { StepContext } from '../../host/step-context.ts';

/** Waiting for one sandbox, or for all the forks, at the most. Seconds. */
export const MAX_WAIT_SECONDS = 600;

export interface SnapshotBench {
  client: MayflyClient;
  /** The host's libvirt, a second hand on it beside the host worker's. */
  host: LibvirtHypervisor;
  sandboxesDir: string;
  source: string;
  rounds: number;
  /** Snapshots in a row. */
  chain: number;
}

/** Of a step that is called directly. */
export function context(): StepContext {
  return { signal: AbortSignal.timeout(MAX_WAIT_SECONDS * 1_000), alive: () => {} };
}
