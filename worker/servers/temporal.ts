import { NativeConnection } from '@temporalio/worker';
import { MayflyError } from '../../model/errors.ts';
import { SEARCH_ATTRIBUTES } from '../../model/sagas/messages.ts';
import type { TemporalTls } from '../config/config.ts';
import { findTlsProblem, readTemporalTls } from './temporal-tls.ts';

/** temporal.api.enums.v1.IndexedValueType. */
const INDEXED_VALUE_TYPE_KEYWORD = 2;
/** gRPC status code. */
const ALREADY_EXISTS = 6;

/**
 * Opens a process's one connection, shared by its workers and its client.
 * @param tlsFiles null: no TLS
 * @throws MayflyError temporal_unavailable
 */
export async function connectTemporal(address: string, tlsFiles: TemporalTls | null = null): Promise<NativeConnection> {
  const tls = tlsFiles && (await readTemporalTls(tlsFiles));
  try {
    return await NativeConnection.connect({ address, tls, grpcCompression: { codec: 'none' } });
  } catch (cause) {
    const why = await findTlsProblem(address, tls);
    throw new MayflyError('temporal_unavailable', `Temporal does not answer at ${address}${why ? `: ${why}` : ''}`, {
      cause,
    });
  }
}

/** Registers missing search attributes; a dev server with an old database file ignores them at its start. */
export async function registerSearchAttributes(connection: NativeConnection, namespace: string): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = Object.values(SEARCH_ATTRIBUTES).filter((name) => !(name in (customAttributes ?? {})));
  if (missing.length === 0) return;
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, INDEXED_VALUE_TYPE_KEYWORD])),
    });
  } catch (error) {
    const raced = typeof error === 'object' && error !== null && 'code' in error && error.code === ALREADY_EXISTS;
    if (!raced) throw error;
  }
}
