import { once } from 'node:events';
import type { Server } from 'node:http';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { createApp } from '../api/app.ts';
import { createHookApp } from '../api/hooks/hook-door.ts';
import type { App } from '../api/http/context.ts';
import { apiServer } from '../api/server/api-server.ts';
import { RequestKey } from '../ca/signed-request.ts';
import { RelayClient } from '../host/relay/client.ts';
import packageJson from '../package.json' with { type: 'json' };
import { Ingress } from '../services/ingress/ingress-server.ts';
import { EventIntake } from '../services/intake/acceptance.ts';
import { type ListenAddress, listen } from '../services/listen.ts';
import { InputSchemas } from '../services/schema/input-schemas.ts';
import type { Store } from '../store/connect.ts';
import { ApiTemporalClient } from '../temporal/temporal-sagas.ts';
import { temporalClient } from './payloads/data-converter.ts';
import { connectProcessStore, type Process } from './process.ts';
import { requestIdOfClient } from './tracing/request-id.ts';

/** Time for requests in flight when the API closes, ms; requests that only wait end at once. */
const DRAIN_MS = 2_000;

interface ApiPart {
  url: string;
  /** URL of hooks for senders; null: the API serves them. */
  hooksUrl: string | null;
  /** Base URL of the names of open ports. */
  ingressUrl: string;
  store: Store;
}

/**
 * Serves the API, and hooks on a port of their own if configured. On close, requests in flight finish, except those
 * that only wait.
 */
export async function startApiPart(process: Process): Promise<ApiPart> {
  const { config, connection, dataConverter, logger, closers, tracing } = process;
  const store = await connectProcessStore(process);
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
  const sagas = new ApiTemporalClient(client, { signer: requestKey.signer({ process: 'api' }) });
  const ingress = await Ingress.start({ store, sagas, guests, logger }, config.ingress);
  closers.add('open ports of sandboxes', async () => ingress.close());
  const own = {
    store,
    sagas,
    logger,
    metrics: new Registry(),
    ...(tracing.request && { traceRequest: tracing.request }),
  };
  const schemas = new InputSchemas();
  closers.add('schemas of functions', () => schemas.close());
  await schemas.warm();
  const acceptance = new EventIntake(own, schemas);
  const hooksUrl = await serveHooks(process, () => createHookApp(own, acceptance));
  const app = createApp(
    {
      ...own,
      guests,
      portAddress: ingress.addresses,
      hookPlace: { url: config.hooks.url ?? hooksUrl, isHere: hooksUrl === null },
      version: packageJson.version,
      names: config.api.names,
    },
    acceptance,
  );
  const url = await serveApp(process, 'API', app, { ...config.api, setting: 'MAYFLY_API_PORT' });
  return { url, hooksUrl: config.hooks.url ?? hooksUrl, ingressUrl: ingress.addresses.url, store };
}

/** @returns URL of the hooks' own server; null: the API serves them */
async function serveHooks(process: Process, app: () => App): Promise<string | null> {
  const { address, port } = process.config.hooks;
  if (port === undefined) return null;
  return serveApp(process, 'hooks', app(), { address, port, setting: 'MAYFLY_HOOKS_PORT' });
}

/** @returns URL of the server */
async function serveApp({ logger, closers }: Process, name: string, app: App, place: ListenAddress): Promise<string> {
  const server = apiServer(app, logger);
  const port = await listen(server, place);
  let closed: Promise<void> | null = null;
  const begin = () => {
    closed ??= closeServer(server);
  };
  const close = async () => {
    begin();
    await closed;
  };
  closers.add(name, close, begin);
  return `http://${isIPv6(place.address) ? `[${place.address}]` : place.address}:${port}`;
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const force = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(force);
}
