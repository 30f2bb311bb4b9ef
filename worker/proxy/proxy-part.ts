import { join } from 'node:path';
import { ChannelCredentials, ServerCredentials } from '@grpc/grpc-js';
import type { TLSConfig } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { Logger } from 'pino';
import { MayflyError } from '../../model/errors.ts';
import { connectStore } from '../../store/connect.ts';
import type { Closers } from '../config/closers.ts';
import type { Config } from '../config/config.ts';
import { secretKey } from '../config/secret-file.ts';
import { readTemporalTls } from '../servers/temporal-tls.ts';
import { API_RULES } from './api-rules.ts';
import { type Caller, TaskTokens } from './caller.ts';
import { hostRules } from './host-rules.ts';
import { TemporalProxy } from './temporal-proxy.ts';

interface ProxyPartDeps {
  config: Config;
  temporalAddress: string;
  storeUri: string;
  dataConverter: DataConverter;
  logger: Logger;
  closers: Closers;
}

/**
 * Serves Temporal to the API and to hosts, to each by its row in docs/security.md. @throws MayflyError
 * temporal_unavailable
 */
export async function startProxyPart(deps: ProxyPartDeps): Promise<{ address: string }> {
  const { config, temporalAddress, storeUri, dataConverter, logger, closers } = deps;
  const [codec] = dataConverter.payloadCodecs ?? [];
  if (!codec) throw new MayflyError('internal', 'Payloads have no codec.');
  const credentials = await ownCredentials(config);
  const tokens = new TaskTokens(await secretKey(join(config.stateDir, 'proxy', 'token.key'), 'key of task tokens'));
  const store = await connectStore(storeUri);
  closers.add("the proxy's store", () => store.close());
  const rulesOf = (caller: Caller) =>
    caller.process === 'api' ? API_RULES : hostRules(caller.hostId, { store, codec });
  const tls = config.temporalTls && (await readTemporalTls(config.temporalTls));
  const proxy = new TemporalProxy({
    address: temporalAddress,
    namespace: config.temporalNamespace,
    credentials: tls ? clientCredentials(tls) : ChannelCredentials.createInsecure(),
    ...(tls?.serverNameOverride !== undefined && {
      options: { 'grpc.ssl_target_name_override': tls.serverNameOverride },
    }),
    tokens,
    rulesOf,
    logger,
  });
  closers.add('proxy', async () => proxy.close());
  const { address, port } = config.proxy;
  return { address: `${address}:${await proxy.listen(`${address}:${port}`, credentials)}` };
}

/** Loads the proxy's certificate; callers need one of its CA. */
async function ownCredentials({ proxy }: Config): Promise<ServerCredentials> {
  const { serverRootCACertificate, clientCertPair } = await readTemporalTls(proxy.tls, 'MAYFLY_PROXY_TLS');
  if (!serverRootCACertificate || !clientCertPair) {
    const why = 'set MAYFLY_PROXY_TLS_CA, MAYFLY_PROXY_TLS_CERT and MAYFLY_PROXY_TLS_KEY';
    throw new MayflyError('invalid_request', `The proxy knows its callers by certificates: ${why}.`);
  }
  const pair = { private_key: Buffer.from(clientCertPair.key), cert_chain: Buffer.from(clientCertPair.crt) };
  return ServerCredentials.createSsl(Buffer.from(serverRootCACertificate), [pair], true);
}

function clientCredentials({ serverRootCACertificate, clientCertPair }: TLSConfig): ChannelCredentials {
  const [ca, key, cert] = [serverRootCACertificate, clientCertPair?.key, clientCertPair?.crt].map((pem) =>
    pem ? Buffer.from(pem) : null,
  );
  return ChannelCredentials.createSsl(ca, key, cert);
}
