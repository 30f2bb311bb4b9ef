import type { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import { setIntervalAsync } from '../../host/os/repeating.ts';
import { ApiTemporalClient } from '../../temporal/temporal-sagas.ts';
import type { Config } from '../config/config.ts';
import { registerSearchAttributes } from '../servers/temporal.ts';

interface ReconcileKeeperDeps {
  client: Client;
  connection: NativeConnection;
  config: Pick<Config, 'temporalNamespace' | 'reconcile'>;
  logger: Logger;
}

/**
 * Keeps the reconciling workflow running, even if it is terminated or Temporal's database is lost; starts a round at
 * once. @returns stops it
 */
export async function keepReconciling(deps: ReconcileKeeperDeps): Promise<() => Promise<void>> {
  const { client, connection, config, logger } = deps;
  const { reconciler } = new ApiTemporalClient(client);
  const keep = async (ensure: () => Promise<void>) => {
    try {
      await registerSearchAttributes(connection, config.temporalNamespace);
      await ensure();
    } catch (error) {
      logger.warn({ err: error }, 'whether anything reconciles could not be seen; that is tried again');
    }
  };
  await keep(() => reconciler.reconcileNow(config.reconcile));
  return setIntervalAsync(() => keep(() => reconciler.ensure(config.reconcile)), config.reconcile.everyMs);
}
