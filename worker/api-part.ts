import { once } from 'node:events';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { createApp } from '../api/app.ts';
import { Ingress } from '../api/ingress/ingress-server.ts';
import { apiServer } from '../api/server/api-server.ts';
import { listen } from '../api/server/listen.ts';
import { RequestKey } from '../ca/signed-request.ts';
import packageJson from '../package.json' with { type: 'json' };
import { RelayClient } from '../relay/client.ts';
import { TemporalSagas } from '../sagas/temporal-sagas.ts';
import { connectStore, type Store } from '../store/connect.ts';
import { temporalClient } from './payloads/data-converter.ts';
import type { Process } from './process.ts';
import { requestIdOfClient } from './tracing/request-id.ts';

/** How long requests that are under way when it is closed may go on; those that only wait are over then. Milliseconds. */
const UNDER_WAY_MS = 2_000;

export interface ApiPart {
  url: string;
  /** Below which open ports of sandboxes have names. */
  ingressUrl: string;
  store: Store;
}

/** Serves the API. Requests under way get to their end when it is closed, except those that only wait. */
export async function startApiPart({
  config,
  storeUri,
  connection,
  dataConverter,
  keys,
  logger,
  closers,
  tracing,
}: Process): Promise<ApiPart> {
  const store = await connectStore(storeUri, { keys, isProcess: true });
  closers.add("the API's store", () => store.close());
  const requestKey = await RequestKey.open(join(config.stateDir, 'api'));
  await store.signers.addApi(requestKey.publicKey);
  const client = temporalClient({
    connection,
    dataConverter,
    namespace: config.temporalNamespace,
    interceptors: { workflow: [requestIdOfClient(), ...tracing.client] },
  });
  const guests = new RelayClient(store);
  closers.add('connections to relays', async () => guests.close());
  const sagas = new TemporalSagas(client, { signer: requestKey.signer({ process: 'api' }) });
  const ingress = await Ingress.start({ store, sagas, guests, logger }, config.ingress);
  closers.add('open ports of sandboxes', async () => ingress.close());
  const app = createApp({
    store,
    sagas,
    guests,
    portAddress: ingress.addresses,
    version: packageJson.version,
    names: config.api.names,
    logger,
    ...(tracing.request && { traceRequest: tracing.request }),
  });
  const server = apiServer(app, logger);
  const port = await listen(server, { ...config.api, setting: 'MAYFLY_API_PORT' });
  let closed: Promise<void> | null = null;
  const begin = () => {
    closed ??= closeServer(server);
  };
  const close = async () => {
    begin();
    await closed;
  };
  closers.add('API', close, begin);
  return { url: `http://${config.api.address}:${port}`, ingressUrl: ingress.addresses.url, store };
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const force = setTimeout(() => server.closeAllConnections(), UNDER_WAY_MS);
  await closed;
  clearTimeout(force);
}
