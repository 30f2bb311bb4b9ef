import { entriesOf } from '../../host/os/directory.ts';
import { StateDir } from '../../host/state-dir.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { Config } from '../config/config.ts';
import { withPresentStore } from '../servers/local-store.ts';

export type SuspendedForSpace = Pick<SandboxRecord, 'id' | 'hostId' | 'stalledBy' | 'waitingFor'>;

/**
 * Finds sandboxes of the installation suspended for space; returns none on a machine without any sandbox.
 * @throws MayflyError store_unavailable
 */
export async function findSuspendedForSpace(config: Config): Promise<SuspendedForSpace[]> {
  const here = await entriesOf(new StateDir(config.stateDir).sandboxes);
  if (here === null || here.length === 0) return [];
  const paused = await withPresentStore(config, (store) => store.sandboxes.all(['paused']));
  return paused
    .filter(({ stalledBy }) => stalledBy !== null)
    .map(({ id, hostId, stalledBy, waitingFor }) => ({ id, hostId, stalledBy, waitingFor }));
}
