import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, type ClientOptions } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { isThere } from '../../host/os/directory.ts';
import type { StoreOptions } from '../../store/connect.ts';
import type { Config } from '../config/config.ts';
import { MarkedPayloads } from './marked-payloads.ts';
import { EncryptedPayloads } from './payload-codec.ts';
import { type PayloadKeys, payloadKeys } from './payload-keys.ts';

/** For the bundle of workflows too. */
export const FAILURE_CONVERTER = fileURLToPath(new URL('../../workflows/saga/failure-converter.cjs', import.meta.url));

/** Where the keys of payloads are: beside the CA's, unless the environment names another file. */
export function payloadKeyPath({ payloadKeyFile, stateDir }: Pick<Config, 'payloadKeyFile' | 'stateDir'>): string {
  return payloadKeyFile ?? join(stateDir, 'control', 'payload.key');
}

/**
 * The keys of the installation, for what Temporal and the store keep.
 * @param makes one is made where there is none
 * @throws MayflyError payload_key_unusable
 */
export function installationKeys(
  config: Pick<Config, 'payloadKeyFile' | 'stateDir'>,
  makes = false,
): Promise<PayloadKeys> {
  return payloadKeys(payloadKeyPath(config), makes);
}

/**
 * What opens the store for a command of the command line: the keys of the installation, where this machine has them. Without
 * them it can be asked for what is not sealed.
 * @throws MayflyError payload_key_unusable when they are there and cannot be used
 */
export async function keysHere(
  config: Pick<Config, 'payloadKeyFile' | 'stateDir'>,
): Promise<Pick<StoreOptions, 'keys'>> {
  return (await isThere(payloadKeyPath(config))) ? { keys: await installationKeys(config) } : {};
}

/** How everything that is sent to Temporal is written and read. */
export function dataConverterOf(keys: PayloadKeys): DataConverter {
  return { payloadCodecs: [new EncryptedPayloads(keys)], failureConverterPath: FAILURE_CONVERTER };
}

/** The same for a worker of workflows; workflows/saga/refused-payloads.ts sees what is not encrypted. */
export function workflowConverterOf(converter: DataConverter): DataConverter {
  return { ...converter, payloadCodecs: (converter.payloadCodecs ?? []).map((codec) => new MarkedPayloads(codec)) };
}

/** The one way to a client of Temporal, so that none writes in the clear. */
export function temporalClient(options: ClientOptions & { dataConverter: DataConverter }): Client {
  return new Client(options);
}
