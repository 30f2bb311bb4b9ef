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

/** Also part of the bundle of workflows. */
export const FAILURE_CONVERTER = fileURLToPath(new URL('../../workflows/saga/failure-converter.cjs', import.meta.url));

/** Returns the path of the payload keys: beside the CA's, unless the environment names another file. */
export function payloadKeyPath({ payloadKeyFile, stateDir }: Pick<Config, 'payloadKeyFile' | 'stateDir'>): string {
  return payloadKeyFile ?? join(stateDir, 'control', 'payload.key');
}

/**
 * Loads the keys of the installation, for data in Temporal and the store.
 * @param makes creates a key if there is none
 * @throws MayflyError payload_key_unusable
 */
export function installationKeys(
  config: Pick<Config, 'payloadKeyFile' | 'stateDir'>,
  makes = false,
): Promise<PayloadKeys> {
  return payloadKeys(payloadKeyPath(config), makes);
}

/**
 * Loads the installation's keys for a command of the CLI, if this machine has them. Without keys only unencrypted data
 * can be read.
 * @throws MayflyError payload_key_unusable when they exist and cannot be used
 */
export async function loadLocalKeys(
  config: Pick<Config, 'payloadKeyFile' | 'stateDir'>,
): Promise<Pick<StoreOptions, 'keys'>> {
  return (await isThere(payloadKeyPath(config))) ? { keys: await installationKeys(config) } : {};
}

/** Returns the converter of everything sent to Temporal. */
export function createDataConverter(keys: PayloadKeys): DataConverter {
  return { payloadCodecs: [new EncryptedPayloads(keys)], failureConverterPath: FAILURE_CONVERTER };
}

/** Returns the converter of a worker of workflows; workflows/saga/refused-payloads.ts handles unencrypted payloads. */
export function createWorkflowConverter(converter: DataConverter): DataConverter {
  return { ...converter, payloadCodecs: (converter.payloadCodecs ?? []).map((codec) => new MarkedPayloads(codec)) };
}

/** Creates every Temporal client, so that none writes in the clear. */
export function temporalClient(options: ClientOptions & { dataConverter: DataConverter }): Client {
  return new Client(options);
}
