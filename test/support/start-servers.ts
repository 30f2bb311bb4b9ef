import { join } from 'node:path';
import type { StateDir } from '../../host/state-dir.ts';
import type { Closers } from '../../worker/config/closers.ts';
import { startTemporalServer } from '../../worker/servers/temporal-server.ts';
import { temporaryState } from '../host/temporary-state.ts';
import { MayflyProcess, noProcessOf } from './mayfly-process.ts';
import { payloadKeyIn } from './payload-key.ts';
import { startStoreServer } from './store-server.ts';

export interface OwnServers {
  state: StateDir;
  /** Environment that a process of Mayfly needs to find them. */
  env: NodeJS.ProcessEnv & { MONGODB_URI: string };
}

/** Starts a store and a Temporal for processes of Mayfly, with a state folder. */
export async function startServers(closers: Closers): Promise<OwnServers> {
  const { state, remove } = await temporaryState();
  closers.add('state folder', remove);
  closers.add('processes', () => noProcessOf(state.root));
  const store = await startStoreServer();
  closers.add('store', () => store.stop());
  const temporal = await startTemporalServer({ dir: join(state.root, 'temporal') });
  closers.add('Temporal', () => temporal.stop());
  const servers = { MONGODB_URI: store.uri, TEMPORAL_ADDRESS: temporal.address };
  return { state, env: { ...servers, ...(await payloadKeyIn(state.root)), MAYFLY_API_PORT: '0' } };
}

/** Starts `mayfly serve`; `closers` kills it. */
export function startService(
  closers: Closers,
  name: 'api' | 'control' | 'host',
  env: NodeJS.ProcessEnv,
): MayflyProcess {
  const child = new MayflyProcess(['serve', name], env);
  closers.add(name, async () => void (await child.end('SIGKILL')));
  return child;
}
