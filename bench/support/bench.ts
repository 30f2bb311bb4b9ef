import type { Sandbox } from '../../clients/typescript/http/openapi.ts';
import type { CreateOneSandbox, MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { connectStore, type Store } from '../../store/connect.ts';
import type { Config } from '../../worker/config/config.ts';
import type { Installation } from '../../worker/installation.ts';
import { installationKeys } from '../../worker/payloads/data-converter.ts';
import { loadServerAddresses } from '../../worker/servers/remembered-servers.ts';
import type { Figures } from './measure.ts';

/** Extent of a run of the bench. */
export interface Extent {
  config: Config;
  source: string;
  isSimulated: boolean;
  isQuick: boolean;
  /** Rounds that are counted, and those before them. */
  runs: number;
  warmUp: number;
  /** Parts measured so far, by name. */
  parts: Readonly<Record<string, Figures>>;
}

/** Installation that a part measures. */
export interface Bench extends Extent {
  installation: Installation;
  client: MayflyClient;
}

/** Maximum wait for a sandbox. */
export const WAIT = { waitSeconds: 240 };
/** Memory small enough for many sandboxes on a small machine. */
export const SMALL_MIB = 64;

/** Creates a sandbox. @throws Error when it does not run */
export async function createRunning(
  { client, source }: Pick<Bench, 'client' | 'source'>,
  request: Partial<CreateOneSandbox> = {},
): Promise<Sandbox> {
  return assertState(await client.createSandbox({ source, ...request }, WAIT), 'running');
}

export async function destroy({ client }: Pick<Bench, 'client'>, id: string): Promise<Sandbox> {
  return assertState(await client.destroySandbox(id, WAIT), 'destroyed');
}

/** Runs `use` with a sandbox, which is destroyed at the end. */
export async function withSandbox<T>(bench: Bench, use: (sandbox: Sandbox) => Promise<T>): Promise<T> {
  const sandbox = await createRunning(bench);
  try {
    return await use(sandbox);
  } finally {
    await destroy(bench, sandbox.id);
  }
}

function assertState(sandbox: Sandbox, wanted: Sandbox['state']): Sandbox {
  const { id, state, failure } = sandbox;
  if (state === wanted) return sandbox;
  throw new Error(`${id} is ${state}, not ${wanted}${failure ? `: ${failure.step}: ${failure.message}` : ''}`);
}

/** Runs `use` with a connection of the bench's own to the installation's store. */
export async function withStore<T>({ config }: Bench, use: (store: Store, uri: string) => Promise<T>): Promise<T> {
  const servers = await loadServerAddresses(config.stateDir);
  if (!servers) throw new Error('the installation did not say where its servers are');
  const store = await connectStore(servers.storeUri, { keys: await installationKeys(config) });
  try {
    return await use(store, servers.storeUri);
  } finally {
    await store.close();
  }
}
