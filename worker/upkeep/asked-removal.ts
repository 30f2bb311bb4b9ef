import { z } from 'zod';
import type { KeyedMutex } from '../../host/os/keyed-mutex.ts';
import { RelayClient } from '../../host/relay/client.ts';
import type { ResidueRemoval } from '../../host/relay/residue.ts';
import { isErrorCode, MayflyError } from '../../model/errors.ts';
import { CLEANUP_GENERATION } from '../../model/sagas/queues.ts';
import type { Config } from '../config/config.ts';
import type { HostMachine } from '../machine/host-machine.ts';
import { withPresentStore } from '../servers/local-store.ts';
import { removeResidueFrom } from './residue.ts';
import { removeSavedResidueFrom } from './saved-residue.ts';

const refusal = z.object({ code: z.string().refine(isErrorCode), message: z.string() });

/**
 * Removes residue in the worker of a machine: concurrently with its steps, serialized with those of the same sandbox.
 */
export function localRemoval(
  config: Config,
  storeUri: string,
  machine: HostMachine,
  mutex: KeyedMutex,
): ResidueRemoval {
  const asked: Config = { ...config, mongodbUri: storeUri };
  const { signal } = new AbortController();
  return {
    sandboxes: (ids) =>
      removeResidueFrom(machine, asked, ids, (id, remove) => mutex.run(id, CLEANUP_GENERATION, signal, remove)),
    snapshots: () => removeSavedResidueFrom(machine, asked, 'snapshots'),
    captures: () => removeSavedResidueFrom(machine, asked, 'captures'),
  };
}

/**
 * Requests the removal of residue from this machine's worker. @throws MayflyError of the worker's answer;
 * host_unavailable, store_unavailable
 */
export function remoteRemoval(config: Config): ResidueRemoval {
  const ask = (kind: keyof ResidueRemoval, body?: object) =>
    withPresentStore(config, async (store) => {
      const client = new RelayClient(store);
      try {
        const answer = await client.request(config.hostId, `/residue/${kind}`, {
          method: 'POST',
          body: Buffer.from(body ? JSON.stringify(body) : ''),
        });
        if (answer.ok) return;
        const { code, message } = refusal.parse(await answer.json());
        throw new MayflyError(code, message);
      } finally {
        client.close();
      }
    });
  return {
    sandboxes: (sandboxIds) => ask('sandboxes', { sandboxIds }),
    snapshots: () => ask('snapshots'),
    captures: () => ask('captures'),
  };
}
