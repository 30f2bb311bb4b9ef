import { pino } from 'pino';
import { StorageRoom } from '../../activities/snapshot/storage-room.ts';
import { StorageWatch } from '../../worker/upkeep/storage-watch.ts';
import type { TestMayfly } from './mayfly.ts';

/** Starts a watch of the host's disk, four times a second. */
export async function startWatch({ host, store, sagas }: TestMayfly): Promise<StorageWatch> {
  if (!host) throw new Error('there is no host to watch');
  const { hypervisor, ledger, observer } = host.machine;
  const room = new StorageRoom({ hypervisor, store });
  const logger = pino({ level: 'silent' });
  const intervals = { storageMs: 250, measureMs: 250 };
  const watch = new StorageWatch({ observer, hypervisor, ledger, room, store, sagas, logger, intervals });
  await watch.start();
  return watch;
}
